"""What is known of a system on a kind cluster: that of the local backend, and where its pods are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from chaoslat.backends.base import SystemInfo
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.state import State
from chaoslat.backends.pods.place import Place

NAMESPACE = "chaoslat"
KUBECONFIG = "kubeconfig"


@dataclass(frozen=True, slots=True)
class KindLayout(Layout):
    """Cgroups as this machine sees them: the nodes are containers on it. `places`: names to paths.

    app, proxy, mysqld: the containers'; db: the database's pod, which has the memory limit.
    """

    places: dict[str, str] = field(default_factory=dict)
    database_pid: int = 0

    @property
    def app(self) -> str:
        return self.places["app"]

    @property
    def proxy(self) -> str:
        return self.places["proxy"]

    @property
    def mysqld(self) -> str:
        return self.places["mysqld"]

    @property
    def db(self) -> str:
        return self.places["db"]

    @property
    def kubepods(self) -> str:
        """The parent of the database's pod: a pod is alive as long as its cgroup is there."""
        return self.db.rpartition("/")[0]

    @property
    def db_socket(self) -> Path:
        """The server's socket, through the root of its container."""
        return Path(f"/proc/{self.database_pid}/root/run/mysqld/mysqld.sock")


@dataclass(frozen=True, slots=True)
class KindState(State):
    """`pods`: part -> pod's name; `address`: of the proxy's service, which the app knows as its database."""

    kubeconfig: str = ""
    kubectl: str = ""
    places: dict[str, str] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    address: str = ""

    @property
    def app_place(self) -> Place:
        """The app's own container."""
        return Place(self.pods["app"], "app")

    @property
    def backend(self) -> str:
        return "kind"

    def info(self) -> SystemInfo:
        own = State.info(self)
        inside = {part: f"pod {NAMESPACE}/{pod}" for part, pod in self.pods.items()}
        return replace(own, namespaces=inside, access={"kubeconfig": self.kubeconfig})

    @property
    def layout(self) -> KindLayout:
        return KindLayout(self.run_id, Path(self.folder), self.places, self.part("mysqld").pid)
