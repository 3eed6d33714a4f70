"""Run a command to its end; a failure becomes one plain error."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from chaoslat.errors import EnvironmentMissing

_TAIL_LINES = 12


def run(
    argv: Sequence[str | Path],
    *,
    fix: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdin: str = "",
    timeout_s: float = 600.0,
) -> str:
    """What the command printed. Raises EnvironmentMissing, with the end of its output, when it fails."""
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C", **(env or {})},
            cwd=cwd,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        why = f"needed to run: {_shown(words)}"
        raise EnvironmentMissing(f"{words[0]} is not installed", why=why, fix=fix) from error
    except subprocess.TimeoutExpired as error:
        what = f"{words[0]} did not finish within {timeout_s:.0f} s"
        raise EnvironmentMissing(what, where=_shown(words), fix=fix) from error
    if done.returncode != 0:
        what = f"{words[0]} failed with exit code {done.returncode}"
        why = _tail(done.stderr) or _tail(done.stdout)
        raise EnvironmentMissing(what, where=_shown(words), why=why, fix=fix)
    return done.stdout


def _tail(text: str) -> str:
    return "\n         ".join(text.strip().splitlines()[-_TAIL_LINES:])


def _shown(words: Sequence[str]) -> str:
    line = shlex.join(words)
    return line if len(line) < 300 else line[:300] + " ..."
