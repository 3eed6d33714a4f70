"""From which suites and packages a database server can be had on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chaoslat.parts.apt_sources import Source
from chaoslat.parts.distribution import newest_sources
from chaoslat.parts.mysql_server import Flavour

PACKAGES: dict[Flavour, tuple[str, ...]] = {
    "mysql": ("mysql-server-core", "mysql-server-core-8.4", "mysql-server-core-8.0"),
    "mariadb": ("mariadb-server-core",),
}


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

    Debian has MySQL only in sid, MariaDB in every release; Ubuntu has both.
    """
    found = Plan("mysql", newest_sources(os_release, sources)), Plan("mariadb", tuple(sources))
    return tuple(plan for plan in found if plan.sources)
