"""Names and places of one run, all derived from its id and the folder that was chosen for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from chaoslat.ledger import link_name, scoped


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything of a run is. `folder` is named `chaoslat-RUN`."""

    run_id: str
    folder: Path

    # cgroups: `kubepods` plays the parent of all pods, `db` is the pod that has a memory limit ------------------
    @property
    def cgroup(self) -> str:
        return scoped(self.run_id)

    @property
    def kubepods(self) -> str:
        return f"{self.cgroup}/kubepods"

    @property
    def app(self) -> str:
        return f"{self.kubepods}/app"

    @property
    def proxy(self) -> str:
        return f"{self.kubepods}/proxy"

    @property
    def db(self) -> str:
        return f"{self.kubepods}/db"

    @property
    def mysqld(self) -> str:
        return f"{self.db}/mysqld"

    @property
    def load(self) -> str:
        return f"{self.cgroup}/load"

    @property
    def probe(self) -> str:
        return f"{self.cgroup}/probe"

    @property
    def leaves(self) -> tuple[str, ...]:
        """Those that hold processes."""
        return (self.app, self.proxy, self.mysqld, self.load, self.probe)

    # network
    @property
    def netns(self) -> str:
        return scoped(self.run_id)

    @property
    def netns_argv(self) -> tuple[str, ...]:
        """Enters the database's network namespace. `ip netns exec` would hide the cgroups of version 1."""
        return ("nsenter", f"--net=/run/netns/{self.netns}")

    @property
    def host_link(self) -> str:
        return link_name(self.run_id, "h")

    @property
    def db_link(self) -> str:
        return link_name(self.run_id, "n")

    @property
    def host_relay(self) -> str:
        return link_name(self.run_id, "r")

    @property
    def db_relay(self) -> str:
        return link_name(self.run_id, "s")

    # files
    @property
    def db_folder(self) -> Path:
        return self.folder / "db"

    @property
    def db_data(self) -> Path:
        return self.db_folder / "data"

    @property
    def db_socket(self) -> Path:
        return self.db_folder / "mysqld.sock"

    @property
    def volumes(self) -> Path:
        """The tmpfs mount with one folder per pod, as kubelet's memory-backed volumes are."""
        return self.folder / "volumes"

    @property
    def prober_socket(self) -> Path:
        return self.folder / "prober.sock"

    def log(self, part: str) -> Path:
        return self.folder / f"{part}.log"
