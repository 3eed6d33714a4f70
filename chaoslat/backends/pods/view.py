"""What the cluster and the container itself say of one container of a pod."""

from __future__ import annotations

from typing import Any

from chaoslat.backends.pods.place import Place
from chaoslat.errors import NotHere, SystemLost
from chaoslat.kube import inside, qos
from chaoslat.kube.client import KubeClient
from chaoslat.kube.exec import PodShell
from chaoslat.model import CgroupCpu


class PodView:
    """Changes nothing. Each reading inside runs a program, which the pod's CPU limit pays for."""

    def __init__(self, kube: KubeClient, place: Place) -> None:
        self.place, self._kube = place, kube
        self._shell = PodShell(kube, place.name, place.container)

    def read(self) -> CgroupCpu:
        """Raises NotHere when the container shows no cgroup, or has no shell, SystemLost when the pod is gone."""
        try:
            return inside.cpu(self._shell, self.place.path)
        except SystemLost as error:
            self._pod()
            what = f"the CPU cgroup of {self.place.path} cannot be read inside it: {error.why}"
            raise NotHere(what) from error

    def clock_s(self) -> float:
        """The wall clock of its node, as the container has it. Raises SystemLost."""
        return float(self._shell.run("date", "+%s.%N"))

    def node(self) -> str:
        """Raises SystemLost."""
        return str(self._pod().spec.node_name)

    def resources(self) -> qos.PodResources:
        """What the pod asks for now. Raises SystemLost."""
        return qos.of(self._pod().spec)

    def close(self) -> None:
        self._shell.close()

    def _pod(self) -> Any:
        return self._kube.call(self._kube.core.read_namespaced_pod, self.place.name, self._kube.namespace)
