"""`chaoslat bench`: how good the instruments are on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import exits
from chaoslat.cli.output import print_result, progress
from chaoslat.cli.run import open_session
from chaoslat.report import summary
from chaoslat.session import Keep

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


@frame.command(group, "aa")
def live_aa(
    diagnoses: Annotated[int, typer.Option(min=1, max=200, help="Comparisons, one after another.")] = 20,
    seed: frame.Seed = None,
    out: frame.Out = None,
    backend: frame.Backend = "local",
    as_json: frame.Json = False,
) -> int:
    """How often the comparison implicates something on a live system that has no fault.

    Exit code 1 when that is significantly more than one in twenty.
    """
    from chaoslat.bench import live as bench

    number = frame.chosen_seed(seed)
    folder = out or summary.out_folder(number)
    folder.mkdir(parents=True, exist_ok=True)
    with progress() as show:
        show(f"seed {number}: {diagnoses} diagnoses of a system without a fault, about half a minute each")
        with open_session(backend, folder, number, show, Keep.NEVER) as session:
            result = session.call(lambda system: bench.run(system, diagnoses, number, folder, show))
    print_result(result, bench.table(result), as_json=as_json)
    return exits.WRONG if result.failures else exits.AS_EXPECTED
