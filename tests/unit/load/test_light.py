"""The generator's process starts quickly: nothing heavy is imported into it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "pydantic",
    "typer",
    "rich",
    "scipy",
    "aiohttp",
    "pytest",
    "ruamel",
    "psutil",
    "kubernetes",
    "pyroute2",
)


def test_imports_nothing_heavy() -> None:
    code = f"import sys, chaoslat.load.__main__; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == ""


def test_usage() -> None:
    done = subprocess.run([sys.executable, "-m", "chaoslat.load"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.split(":")[0]) == (2, "usage")
