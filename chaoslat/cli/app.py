"""The command line's frame: options that many commands share, and how a command ends."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from chaoslat.cli import exits
from chaoslat.cli.output import print_error
from chaoslat.errors import ChaoslatError
from chaoslat.interruption import Terminated, interruptible
from chaoslat.seeds import MAX_SEED, fresh_seed
from chaoslat.session import Keep

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as JSON; progress goes to standard error.")
]
Seed = Annotated[
    int | None,
    typer.Option(min=0, max=MAX_SEED, help="Seed of the run; without it one is drawn and printed."),
]
Out = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Folder of the recordings (default: chaos-out/TIME-SEED)."),
]
Backend = Annotated[str, typer.Option(help="Where the system runs.")]
Runbook = Annotated[
    str | None, typer.Option(help="Runbook to use instead of each experiment's own: a name or a file.")
]
KeepOption = Annotated[Keep, typer.Option(help="Whether the system stays when the run ends.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"chaoslat {version('chaoslat')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit."),
]

app = typer.Typer(
    name="chaoslat",
    help="Does the runbook find the cause of the tail latency? chaoslat injects a known cause into a running system, "
    "lets a runbook look for it without being told, and scores the answer.",
    epilog=exits.HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback()
def common(
    context: typer.Context,
    as_json: Json = False,
    seed: Seed = None,
    out: Out = None,
    backend: Backend = "local",
    runbook: Runbook = None,
    keep: KeepOption = Keep.NEVER,
    show_version: Version = False,  # answered by its callback
) -> None:
    """Options before the command are the defaults of those after it."""
    given = {
        "as_json": as_json,
        "seed": seed,
        "out": out,
        "backend": backend,
        "runbook": runbook,
        "keep": keep,
    }
    values = {name: value for name, value in given.items() if value not in (None, False)}
    group: Any = context.command
    context.default_map = {name: _defaults(command, values) for name, command in group.commands.items()}


def _defaults(command: Any, values: dict[str, Any]) -> dict[str, Any]:
    return {name: _defaults(sub, values) for name, sub in getattr(command, "commands", {}).items()} or values


def command(
    group: typer.Typer, name: str, **options: Any
) -> Callable[[Callable[..., int]], Callable[..., None]]:
    """Make a function a command. It returns the exit code; errors that a user can meet become plain words."""

    def decorate(act: Callable[..., int]) -> Callable[..., None]:
        @functools.wraps(act)
        def wrapped(*args: Any, **kwargs: Any) -> None:
            raise typer.Exit(run_guarded(lambda: act(*args, **kwargs), as_json=bool(kwargs.get("as_json"))))

        group.command(name, epilog=exits.HELP, **options)(wrapped)
        return wrapped

    return decorate


def run_guarded(act: Callable[[], int], *, as_json: bool) -> int:
    """The exit code of `act`; no traceback for what a user can meet."""
    try:
        with interruptible():  # SIGTERM too ends what is open: temporary folders, processes, a system
            return act()
    except ChaoslatError as error:
        print_error(error, as_json=as_json)
        return error.exit_code
    except BrokenPipeError:
        _silence_stdout()
        return exits.BROKEN_PIPE
    except OSError as error:  # a full disk behind standard output, a name that no file system takes
        failed = ChaoslatError(
            "The system refused", where=str(error.filename or ""), why=error.strerror or str(error)
        )
        _silence_stdout()
        print_error(failed, as_json=False)
        return failed.exit_code
    except Terminated as signal:
        return 128 + signal.number
    except KeyboardInterrupt:
        return exits.INTERRUPTED


def _silence_stdout() -> None:
    """The reader has gone: let nothing more be written to it, the interpreter's last flush included."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def chosen_seed(seed: int | None) -> int:
    """The given seed, or a fresh one."""
    return fresh_seed() if seed is None else seed
