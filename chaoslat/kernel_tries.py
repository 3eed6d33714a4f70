"""Tries what a kernel offers, in namespaces that end with the try. Each returns what was wrong, or ""."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence

_DEADLINE_S = 5.0


def network_namespace() -> str:
    """Make a network namespace."""
    return _try(["unshare", "--net", "true"])


def netem() -> str:
    """Delay the loopback device of a network namespace of our own."""
    if not shutil.which("tc"):
        return "tc is not installed (package iproute2)"
    return _try(["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"])


def tmpfs() -> str:
    """Mount a tmpfs in a mount namespace of our own."""
    with tempfile.TemporaryDirectory(prefix="chaoslat-doctor-") as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "chaoslat-doctor", folder]
        return _try(["unshare", "--mount", *mount])


def _try(argv: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=_DEADLINE_S, check=False
        )
    except FileNotFoundError:
        return f"{argv[0]} is not installed (package util-linux)"
    except subprocess.TimeoutExpired:
        return f"{argv[0]} did not answer within {_DEADLINE_S:.0f} s"
    said = (done.stderr or done.stdout).strip().splitlines()
    return "" if done.returncode == 0 else (said[-1] if said else f"exit code {done.returncode}")
