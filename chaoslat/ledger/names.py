"""Names of all that a run creates: they carry the run's id, so that a leftover can be told from a stranger's."""

from __future__ import annotations

import re
import secrets
from typing import Literal

from chaoslat.errors import UsageError

_RUN_ID = re.compile(r"[0-9a-f]{8}")
_SCOPED = re.compile(r"chaoslat-([0-9a-f]{8})")
_LINK = re.compile(r"cl([0-9a-f]{8})[bhnrs]")


def new_run_id() -> str:
    """Eight random hexadecimal digits."""
    return secrets.token_hex(4)


def check_run_id(run_id: str) -> str:
    """The id itself; raises UsageError unless it is eight lower-case hexadecimal digits (it becomes part of paths)."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(
            f"{run_id!r} is not a run's id",
            why="an id has 8 digits out of 0-9 and a-f",
            fix="chaoslat status",
        )
    return run_id


def scoped(run_id: str) -> str:
    """The name of a run's top cgroup, network namespace and temporary folders: `chaoslat-RUN`."""
    return f"chaoslat-{check_run_id(run_id)}"


def link_name(run_id: str, end: Literal["b", "h", "n", "r", "s"]) -> str:
    """One end of a run's veth pair, on the host (`h`) or in the namespace (`n`), or of a detour (`r`, `s`).

    A name has at most 15 characters.
    """
    return f"cl{check_run_id(run_id)}{end}"


def run_of(name: str) -> str | None:
    """The run id in a name of exactly our pattern, else None."""
    match = _SCOPED.fullmatch(name) or _LINK.fullmatch(name)
    return match.group(1) if match else None
