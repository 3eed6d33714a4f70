"""`python -m chaoslat.parts check`, `install [NAME...]`, `path NAME` and `with-mysql COMMAND...`.

Exit codes: 0 all there, 2 usage, 3 something is missing; `with-mysql` has that of the command.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from chaoslat import paths
from chaoslat.errors import ChaoslatError, UsageError
from chaoslat.parts import Found, Missing, Part, all_parts
from chaoslat.parts.base import need
from chaoslat.parts.mysql_lend import run_with_mysql

_MISSING = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; errors are printed plainly and become the exit code."""
    asked = _parser().parse_args(argv)
    try:
        return int(asked.run(asked))
    except ChaoslatError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; what was unfinished is built anew next time", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m chaoslat.parts", description="The real parts of the local backend."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="say which parts are here")
    check.set_defaults(run=lambda asked: _check(_named([])))
    install = commands.add_parser("install", help="get what is missing")
    install.add_argument("names", nargs="*", metavar="NAME", help="parts to install (all by default)")
    install.set_defaults(run=lambda asked: _install(_named(asked.names)))
    path = commands.add_parser("path", help="print where a part is")
    path.add_argument("name", metavar="NAME")
    path.set_defaults(run=lambda asked: _path(_named([asked.name])[0]))
    lend = commands.add_parser("with-mysql", help="run a command with TEST_DB_* set to a private server")
    lend.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    lend.set_defaults(run=lambda asked: _with_mysql(asked.words))
    return parser


def _named(names: Sequence[str]) -> list[Part]:
    parts = {part.name: part for part in all_parts()}
    unknown = [name for name in names if name not in parts]
    if unknown:
        raise UsageError(f"There is no part called {', '.join(unknown)}", fix=f"one of: {', '.join(parts)}")
    return [parts[name] for name in names] if names else list(parts.values())


def _check(parts: Sequence[Part]) -> int:
    answers = [part.find() for part in parts]
    for answer in answers:
        print(_line(answer))
    return _MISSING if any(isinstance(answer, Missing) for answer in answers) else 0


def _path(part: Part) -> int:
    print(need(part.find()).path)
    return 0


def _with_mysql(words: list[str]) -> int:
    if not words:
        raise UsageError("with-mysql needs a command to run")
    return run_with_mysql(paths.cache_root(), words)


def _install(parts: Sequence[Part]) -> int:
    """Try every part, so that one that cannot be installed does not hide the state of the others."""
    worst = 0
    for part in parts:
        started_s = time.monotonic()

        def say(message: str, name: str = part.name, started_s: float = started_s) -> None:
            print(f"{name:<12} {time.monotonic() - started_s:6.1f} s  {message}", flush=True)

        try:
            found = part.install(say)
            say(f"{found.version}  {found.path}")
        except (ChaoslatError, OSError) as error:  # OSError: the disk is full, or the cache not ours to write
            print(f"{part.name}: {error}", file=sys.stderr, flush=True)
            worst = max(worst, getattr(error, "exit_code", _MISSING))
    return worst


def _line(answer: Found | Missing) -> str:
    if isinstance(answer, Found):
        return f"{answer.name:<12} {answer.version}  {answer.path}"
    return f"{answer.name:<12} missing: {answer.why}\n{'':<12} fix: {answer.fix}"


if __name__ == "__main__":
    sys.exit(main())
