"""`chaoslat bench`: how good the instruments are on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result, progress

group = typer.Typer(
    name="bench",
    help="Measure the instruments: the load generator, and the comparison of tails.",
    no_args_is_help=True,
)
frame.app.add_typer(group)


@frame.command(group, "load")
def load(
    periods: Annotated[int, typer.Option(min=5, max=1000, help="Stalls of the server, one in 937 ms.")] = 48,
    seed: frame.Seed = None,
    as_json: frame.Json = False,
) -> int:
    """Known-answer test of the load generator: a server that stalls, and the percentiles that follow.

    Exit code 1 when an error or a lag is out of bounds.
    """
    from chaoslat.bench import load as bench

    number = frame.chosen_seed(seed)
    with progress() as show:
        show(f"seed {number}: about {periods + 20} s of load")
        result = bench.run(periods=periods, seed=number)
    print_result(result, bench.table(result), as_json=as_json)
    return exits.WRONG if result.failures else exits.AS_EXPECTED


@frame.command(group, "comparison")
def comparison(
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="Diagnoses of each case.")] = 40,
    seed: frame.Seed = None,
    as_json: frame.Json = False,
) -> int:
    """How often the comparison of tails is right, on simulated and recorded systems whose cause is known.

    Exit code 1 when an error rate is out of bounds.
    """
    from chaoslat.bench import comparison as bench

    number = frame.chosen_seed(seed)
    with progress() as show:
        show(f"seed {number}: {runs} diagnoses of each of {bench.count()} cases")
        result = bench.run(runs, number)
    print_result(result, bench.table(result), as_json=as_json)
    return exits.WRONG if result.failures else exits.AS_EXPECTED
