"""The command line. One file per group of commands; `app.py` is the frame they share.

To add a command: write a file with a function that returns an exit code, decorate it with `app.command`, and list
its module in `COMMANDS`.
"""

from __future__ import annotations

from chaoslat.cli import bench, compare, diagnose, doctor, heal, listing, replay, report, run, score, up
from chaoslat.cli.app import app

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = (doctor, run, replay, score, compare, report, up, diagnose, heal, listing, bench)


def main() -> None:
    """Entry point of the console script `chaoslat`."""
    app()
