"""What a command prints: the result to standard output (text, or pure JSON), everything else to standard error."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from chaoslat.errors import ChaoslatError
from chaoslat.report.plain import to_json
from chaoslat.yaml_lines import BadFile

Progress = Callable[[str], None]


def print_result(data: Any, text: str, *, as_json: bool) -> None:
    """Print one or the other, and flush: a reader that has gone away is noticed here."""
    print(to_json(data) if as_json else text, flush=True)


def print_error(error: ChaoslatError, *, as_json: bool) -> None:
    """The whole error in plain words on standard error; with --json also as the result."""
    print(f"chaoslat: {error}", file=sys.stderr, flush=True)
    if as_json:
        print(to_json({"error": describe(error)}), flush=True)


def describe(error: ChaoslatError) -> dict[str, Any]:
    """An error in JSON types."""
    parts: dict[str, Any] = {name: getattr(error, name) for name in ("what", "where", "why", "fix")}
    problems = (
        {"problems": [asdict(problem) for problem in error.problems]} if isinstance(error, BadFile) else {}
    )
    return {"kind": type(error).__name__, **parts, "exit_code": error.exit_code, **problems}


def is_live() -> bool:
    """Whether somebody watches: a terminal, and no CI."""
    return sys.stderr.isatty() and not os.environ.get("CI")


def width() -> int:
    """Columns of the terminal that reads the result; no limit where it goes to a file or a pipe."""
    from chaoslat.report.terminal import UNLIMITED

    return max(shutil.get_terminal_size().columns, 80) if sys.stdout.isatty() else UNLIMITED


@contextmanager
def progress() -> Iterator[Progress]:
    """A function that shows what is going on: a live line with a clock, or plain lines where nobody watches."""
    start_s = time.monotonic()
    if is_live():
        with _live(start_s) as show:
            yield show
    else:
        yield lambda line: print(_stamped(line, start_s), file=sys.stderr, flush=True)


@contextmanager
def _live(start_s: float) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, markup=False)
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("")

        def show(line: str) -> None:
            console.print(_stamped(line, start_s), style="dim")
            bar.reset(task, description=line.splitlines()[0][:60] if line else "")

        yield show


def _stamped(line: str, start_s: float) -> str:
    return f"[{time.monotonic() - start_s:6.1f} s] {line}"
