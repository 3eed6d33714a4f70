"""Where Debian's packages come from: the mirror that this machine's apt uses, or the one that is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.apt_sources import Source, machine_sources

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
VARIABLE = "CHAOSLAT_DEBIAN_MIRROR"


def lines(suite: str, sources: Sequence[Source] | None = None, mirror: str | None = None) -> list[str]:
    """`deb` lines for main of a suite, each with its keyring; with the machine's own security updates for it.

    Raises EnvironmentMissing when no mirror of Debian is known.
    """
    sources = machine_sources() if sources is None else sources
    named = os.environ.get(VARIABLE, "") if mirror is None else mirror
    if named:
        return [_line(named, suite, str(KEYRING))]
    archive = next((source for source in sources if _is_archive(source)), None)
    if archive is None:
        raise _no_mirror(suite)
    security = [source for source in sources if f"{suite}-security" in source.suites]
    return [
        _line(archive.uris[0], suite, archive.signed_by),
        *(_line(source.uris[0], f"{suite}-security", source.signed_by) for source in security[:1]),
    ]


def _is_archive(source: Source) -> bool:
    """A mirror of the whole archive: it serves a suite of Debian that has no part after a dash."""
    return "main" in source.components and any(suite in _SUITES for suite in source.suites)


_SUITES = ("bookworm", "trixie", "forky", "oldstable", "stable", "testing", "unstable", "sid")


def _line(uri: str, suite: str, signed_by: str) -> str:
    keyring = signed_by if signed_by.startswith("/") else str(KEYRING)
    return f"deb [signed-by={keyring}] {uri} {suite} main"


def _no_mirror(suite: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"No mirror of Debian is known, and the images are made from its suite {suite}",
        where="/etc/apt",
        why="this machine's apt names none",
        fix=f"install debian-archive-keyring, and name a mirror: {VARIABLE}=URL",
    )
