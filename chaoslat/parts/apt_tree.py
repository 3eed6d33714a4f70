"""A private apt: packages of another suite, fetched and unpacked without touching the system or needing root.

It has directories of its own and an empty dpkg status, so that a package's whole closure is fetched, C
library included. Signatures are checked with the keys that the machine trusts for the same mirror. Only the
age of the index is not checked: a mirror may be a frozen one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from chaoslat.parts.apt_sources import Source
from chaoslat.parts.run import run

_NOT_NEEDED = re.compile(r"(perl|libperl|perl-modules|perl-base|debconf|dpkg|bash|tar|coreutils)[-_.0-9]")


class AptTree:
    """Apt with its state under `home` and only `sources`."""

    def __init__(self, home: Path, sources: Sequence[Source]) -> None:
        self._home = home
        self._config = home / "apt.conf"
        for folder in (
            "state/lists/partial",
            "cache/archives/partial",
            "etc/sources.list.d",
            "etc/preferences.d",
            "etc/apt.conf.d",
        ):
            (home / folder).mkdir(parents=True, exist_ok=True)
        (home / "status").touch()
        stanzas = "\n".join(source.deb822() for source in sources)
        (home / "etc/sources.list.d/private.sources").write_text(stanzas)
        self._config.write_text(_acquire_settings(run(["apt-config", "dump"])) + _config(home))

    def update(self) -> None:
        """Fetch the indexes. Raises EnvironmentMissing when a mirror or a signature is no good."""
        self._apt("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update")

    def candidate(self, package: str) -> str:
        """The version that would be fetched, or "" when there is none."""
        match = re.search(r"^\s*Candidate: (\S+)", self._apt("apt-cache", "policy", package), re.MULTILINE)
        return "" if match is None or match[1] == "(none)" else match[1]

    def first_of(self, packages: Iterable[str]) -> str:
        """The first of the packages that has a candidate, or ""."""
        return next((package for package in packages if self.candidate(package)), "")

    def unpack(self, package: str, into: Path) -> None:
        """Fetch the package with what it depends on, and unpack that, maintainer scripts not run."""
        self._apt("apt-get", "-q", "-y", "--no-install-recommends", "--download-only", "install", package)
        for deb in sorted((self._home / "cache/archives").glob("*.deb")):
            if not _NOT_NEEDED.match(deb.name):
                run(["dpkg-deb", "-x", deb, into])

    def _apt(self, *argv: str) -> str:
        return run(argv, env={"APT_CONFIG": str(self._config), "DEBIAN_FRONTEND": "noninteractive"})


def _config(home: Path) -> str:
    settings = {
        "Dir": f"{home}/",
        "Dir::State": f"{home}/state",
        "Dir::State::status": f"{home}/status",
        "Dir::Cache": f"{home}/cache",
        "Dir::Etc": f"{home}/etc",
        "Dir::Etc::trusted": "/etc/apt/trusted.gpg",
        "Dir::Etc::trustedparts": "/etc/apt/trusted.gpg.d",
        "Dir::Etc::netrc": "/etc/apt/auth.conf",
        "Dir::Etc::netrcparts": "/etc/apt/auth.conf.d",
        "APT::Sandbox::User": "root",  # the tree may be below a home that apt's own user cannot enter
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::AllowWeakRepositories": "false",
        "Acquire::Check-Valid-Until": "false",
        "Acquire::Languages": "none",
    }
    return "".join(f'{name} "{value}";\n' for name, value in settings.items())


def _acquire_settings(dump: str) -> str:
    """The machine's proxies, timeouts and certificates, without its hooks and extra index targets."""
    lines = [line for line in dump.splitlines() if line.startswith("Acquire::")]
    kept = [line for line in lines if not line.startswith(("Acquire::IndexTargets", "Acquire::Languages"))]
    return "\n".join(kept) + "\n"
