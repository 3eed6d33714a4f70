"""Which distribution this is, and where its newest packages are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from chaoslat.parts.apt_sources import Source, of_release

_DEBIAN_SUITES = ("stable", "testing", "unstable", "sid")


def read_os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    """The machine's os-release(5); empty when there is none."""
    if not path.exists():
        return {}
    pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line and line[:1] != "#")
    return {name.strip(): value.strip().strip("\"'") for name, value in pairs}


def newest_sources(os_release: Mapping[str, str], sources: Sequence[Source]) -> tuple[Source, ...]:
    """The sources to fetch a newer program from, into a prefix of its own.

    On Debian that is the suite sid, asked of the mirror that serves the machine's own release, with that
    mirror's keys. Every other distribution is asked for what it has.
    """
    if os_release.get("ID") != "debian":
        return tuple(sources)
    names = (os_release.get("VERSION_CODENAME", ""), *_DEBIAN_SUITES)
    return tuple(dict.fromkeys(source.for_suite("sid") for source in of_release(sources, names)))
