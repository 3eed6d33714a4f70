"""The database server: a real MySQL, or MariaDB where only that exists.

Looked for on PATH, then in the cache. Installed from the distribution's packages into a prefix in the cache,
which needs no root and changes nothing on the system.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.parts.apt_sources import machine_sources
from chaoslat.parts.apt_tree import AptTree
from chaoslat.parts.base import Found, Missing, Progress, install_command, need
from chaoslat.parts.distribution import read_os_release
from chaoslat.parts.mysql_plans import PACKAGES, Plan, plans
from chaoslat.parts.mysql_server import PROGRAM, Flavour, MysqlServer, from_prefix, from_program, read_version
from chaoslat.parts.prefix import carry_folder, carry_program, launch_argv
from chaoslat.parts.run import run
from chaoslat.parts.store import build_once, key

_RECIPE = "1"  # raise it to have every machine build its prefix again
_CONFINED = Path("/sys/kernel/security/apparmor/profiles")
_SHARED = ["usr/share/mysql/charsets", "usr/share/mysql/english", "usr/share/mysql/*.sql"]


@dataclass(frozen=True, slots=True)
class Mysql:
    """Finds or installs the server. Without `system` only the cache counts: a prefix that can be carried elsewhere."""

    cache: Path
    name: str = "mysql"
    system: bool = True

    def find(self) -> Found | Missing:
        """The best server that is here: MySQL on PATH, in the cache, MariaDB in the cache, on PATH."""
        server = next(self._servers(), None)
        if server is None:
            why = "no MySQL or MariaDB server on PATH or in the cache"
            return Missing(self.name, why, install_command(self.name))
        return Found(self.name, Path(server.argv_prefix[-1]), f"{server.flavour} {server.version}")

    def install(self, progress: Progress) -> Found:
        """Unpack MySQL, else MariaDB, into the cache. Raises EnvironmentMissing with each refusal.

        A MariaDB on PATH is what is left when there is no package of either.
        """
        if next(self._servers(last_resort=False), None) is None:
            refusals = self._try_plans(progress)
            if isinstance(self.find(), Missing):
                raise _nothing_worked(refusals)
        return need(self.find())

    def server(self) -> MysqlServer:
        """The server, ready to be started. Raises EnvironmentMissing when there is none."""
        need(self.find())
        return next(self._servers())

    def _servers(self, *, last_resort: bool = True) -> Iterator[MysqlServer]:
        on_path = _on_path() if self.system else []
        yield from (server for server in on_path if server.flavour == "mysql")
        yield from filter(None, (self._cached("mysql"), self._cached("mariadb")))
        if last_resort:
            yield from (server for server in on_path if server.flavour == "mariadb")

    def _cached(self, flavour: Flavour) -> MysqlServer | None:
        about = self.prefix(flavour) / "server.json"
        if not about.exists():
            return None
        return from_prefix(about.parent, flavour, json.loads(about.read_text())["version"])

    def prefix(self, flavour: Flavour) -> Path:
        """Where the cache has this server, if it has it."""
        return self.cache / f"{flavour}-{key(_RECIPE, platform.machine(), *PACKAGES[flavour])}"

    def _try_plans(self, progress: Progress) -> list[str]:
        """Carry out the first plan that works; what the ones before it said."""
        refusals: list[str] = []
        for plan in plans(read_os_release(), machine_sources()):
            try:
                self._carry_out(plan, progress)
                break
            except EnvironmentMissing as error:
                refusals.append(f"{plan}: {error.what}; {error.why}")
                progress(f"{plan}: not possible")
        return refusals

    def _carry_out(self, plan: Plan, progress: Progress) -> None:
        build_once(self.prefix(plan.flavour), lambda into: _build(plan, into, progress), progress)


def _build(plan: Plan, into: Path, progress: Progress) -> None:
    apt_home, root = into / "apt", into / "root"
    program = PROGRAM[plan.flavour]
    package = _fetch(plan, apt_home, root, progress)
    carry_program(root, f"usr/sbin/{program}", into)
    carry_folder(root, _SHARED, into / "share")
    (into / "plugin").mkdir()  # what the server needs is built in
    shutil.rmtree(root)
    shutil.rmtree(apt_home)
    _, version = read_version(run([*launch_argv(into, program), "--version"]))
    (into / "server.json").write_text(json.dumps({"version": version, "package": package}) + "\n")


def _fetch(plan: Plan, apt_home: Path, root: Path, progress: Progress) -> str:
    progress(f"asking for {plan}")
    tree = AptTree(apt_home, plan.sources)
    tree.update()
    package = tree.first_of(PACKAGES[plan.flavour])
    if not package:
        raise EnvironmentMissing(f"No package of {', '.join(PACKAGES[plan.flavour])} there")
    progress(f"fetching {package} {tree.candidate(package)} with its libraries")
    tree.unpack(package, root)
    return package


def _nothing_worked(refusals: list[str]) -> EnvironmentMissing:
    return EnvironmentMissing(
        "No MySQL or MariaDB server could be installed",
        where="/etc/apt",
        why="\n         ".join(refusals) or "this machine has no apt sources",
        fix="install a MySQL server (8.0 or newer) so that `mysqld` is on PATH",
    )


def _on_path() -> list[MysqlServer]:
    return [server for name in PROGRAM.values() if (server := _program(name)) is not None]


def _program(name: str) -> MysqlServer | None:
    where = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/local/sbin")
    if where is None or _is_confined(where):
        return None
    try:
        return from_program(Path(where))
    except ChaoslatError:  # too old or broken: as good as not there
        return None


def _is_confined(program: str) -> bool:
    """Whether AppArmor keeps this program to its own directories, so that it cannot use one of ours."""
    try:
        profiles = _CONFINED.read_text()
    except OSError:
        return False
    return f"{Path(program).resolve()} (enforce)" in profiles
