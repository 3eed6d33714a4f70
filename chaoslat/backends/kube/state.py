"""What is known of a system on a cluster that exists: its pods, and the port-forwards by which it is reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from chaoslat.backends.base import SystemInfo
from chaoslat.backends.kube.login import Login
from chaoslat.backends.local.state import State
from chaoslat.backends.pods.place import Place

APP_CONTAINER = "app"


@dataclass(frozen=True, slots=True)
class KubeState(State):
    """`parts`: the port-forwards; `pods`: label -> pod's name; `address`: of the proxy's service."""

    kubectl: str = ""
    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""
    pods: dict[str, str] = field(default_factory=dict)
    address: str = ""
    tools_image: str = ""

    @property
    def backend(self) -> str:
        return "kube"

    @property
    def login(self) -> Login:
        return Login(Path(self.kubectl), Path(self.kubeconfig), self.context)

    @property
    def app_place(self) -> Place:
        return Place(self.pods["app"], APP_CONTAINER)

    def info(self) -> SystemInfo:
        running = (*self.parts, *([self.load] if self.load else []))
        return SystemInfo(
            run_id=self.run_id,
            backend=self.backend,
            folder=self.folder,
            url=self.app.url,
            pids={part.name: part.pid for part in running},
            cgroups={},
            ports=dict(self.ports),
            namespaces={label: f"pod {self.namespace}/{pod}" for label, pod in self.pods.items()},
            versions=dict(self.versions),
            access={"kubeconfig": self.kubeconfig},
        )
