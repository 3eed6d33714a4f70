"""From which suites and packages a database server can be had on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chaoslat.parts.apt_sources import Source, of_release
from chaoslat.parts.mysql_server import Flavour

PACKAGES: dict[Flavour, tuple[str, ...]] = {
    "mysql": ("mysql-server-core", "mysql-server-core-8.4", "mysql-server-core-8.0"),
    "mariadb": ("mariadb-server-core",),
}
_DEBIAN_SUITES = ("stable", "testing", "unstable", "sid")


@dataclass(frozen=True, slots=True)
class Plan:
    """Look in these sources for the first package that they have."""

    flavour: Flavour
    sources: tuple[Source, ...]

    def __str__(self) -> str:
        suites = dict.fromkeys(suite for source in self.sources for suite in source.suites)
        return f"{self.flavour} from {', '.join(suites)}"


def plans(os_release: Mapping[str, str], sources: Sequence[Source]) -> tuple[Plan, ...]:
    """What to try, best first: MySQL before MariaDB. Empty without apt sources.

    Debian has MySQL only in sid, so that suite is asked of the mirror that serves the machine's own release,
    with that mirror's keys. Every other distribution is asked for what it has.
    """
    if not sources:
        return ()
    own = tuple(sources)
    if os_release.get("ID") != "debian":
        return Plan("mysql", own), Plan("mariadb", own)
    names = (os_release.get("VERSION_CODENAME", ""), *_DEBIAN_SUITES)
    sid = tuple(dict.fromkeys(source.for_suite("sid") for source in of_release(own, names)))
    return (Plan("mysql", sid), Plan("mariadb", own)) if sid else (Plan("mariadb", own),)


def read_os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    """The machine's os-release(5); empty when there is none."""
    if not path.exists():
        return {}
    pairs = (line.split("=", 1) for line in path.read_text().splitlines() if "=" in line and line[:1] != "#")
    return {name.strip(): value.strip().strip("\"'") for name, value in pairs}
