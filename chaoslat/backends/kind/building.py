"""Makes a system on a cluster of its own, in order: what must be undone is promised first, then everything is made."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from chaoslat import nodeimage
from chaoslat.backends.kind import cluster, places, workloads
from chaoslat.backends.kind.memory import fill_and_limit
from chaoslat.backends.kind.places import Place
from chaoslat.backends.kind.reach import until_it_answers
from chaoslat.backends.kind.state import KUBECONFIG, NAMESPACE, KindLayout, KindState
from chaoslat.backends.local import database, folder
from chaoslat.backends.local.builder import Builder
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Part
from chaoslat.backends.local.prober_part import environment, wait_until_ready
from chaoslat.backends.local.proxy import Toxiproxy
from chaoslat.cgroup.realtime import allow_realtime
from chaoslat.kube.client import KubeClient
from chaoslat.ledger import run_folder, scoped
from chaoslat.ledger.marks import mark_tree
from chaoslat.ledger.owner import start_ticks
from chaoslat.probes import prober

PARTS = {"app": "app", "toxiproxy": "proxy", "mysqld": "database"}
"""Part -> the label of its pod."""


class KindBuilder(Builder[KindState]):
    """A cluster, and all that runs on it."""

    def build(self) -> KindState:
        base = KindLayout(self.ledger.run_id, folder.choose(self.ledger.run_id))
        self._promise(base)
        _make_folder(base)
        for path in (base.load, base.probe):
            self.tree.create(path)
        allow_realtime(self.tree, base.load)
        kubeconfig = run_folder(self.ledger.run_id) / KUBECONFIG
        made = cluster.create(self.ledger, base.folder, kubeconfig, self._say)
        kube = KubeClient(kubeconfig, NAMESPACE)
        try:
            return self._system(base, made, kube)
        finally:
            kube.close()

    def _promise(self, layout: Layout) -> None:
        self.ledger.promise("tree", path=str(layout.folder))
        self.ledger.promise("mount", path=str(layout.volumes))
        self.ledger.promise("cgroup", paths=list(self.tree.directories(scoped(self.ledger.run_id))))

    def _system(self, base: KindLayout, made: cluster.Cluster, kube: KubeClient) -> KindState:
        filled = workloads.values(self.ledger.run_id, made)
        self._say("starting database and proxy")
        for name in ("namespace", "database", "proxy"):
            workloads.put(kube, name, filled)
        pods = {"proxy": workloads.ready(kube, "proxy"), "database": workloads.ready(kube, "database")}
        until_it_answers(f"http://127.0.0.1:{made.ports['toxiproxy']}/version")
        workloads.join(kube, made.ports["toxiproxy"])
        found = {name: self._place(made, name, pod) for name, pod in pods.items()}
        layout = _layout(base, found)
        self._say("reading the table once and setting the memory limit")
        cost_bytes = fill_and_limit(
            kube, self.tree, layout, pods["database"].metadata.name, made.ports["mysql"]
        )
        self._say("starting the app")
        workloads.put(kube, "app", filled)
        pods["app"] = workloads.ready(kube, "app")
        until_it_answers(f"http://127.0.0.1:{made.ports['app']}/healthz")
        until_it_answers(f"http://127.0.0.1:{made.ports['admin']}/admin/pool")
        found["app"] = self._place(made, "app", pods["app"])
        address = workloads.service_address(kube, "proxy")
        prober_part = self._prober(base, found["app"].pid, address)
        return self._state(_layout(base, found), made, kube, pods, found, prober_part, address, cost_bytes)

    def _place(self, made: cluster.Cluster, name: str, pod: Any) -> Place:
        node = made.nodes["database" if name == "database" else "app"]
        return places.find(self.tree, places.node_cgroup(self.tree, made.kind.ground.docker, node), pod)

    def _prober(self, layout: Layout, app_pid: int, address: str) -> Part:
        """In the network namespace of the app's pod, as a debug container would be; outside its cgroup."""
        argv = ["nsenter", f"--net=/proc/{app_pid}/ns/net", sys.executable, "-I", prober.__file__]
        part = self.children.start(
            "prober",
            [*self.tree.launcher(layout.probe), *argv],
            layout.log("prober"),
            environment(layout, address, database.PORT),
            layout.folder,
        )
        wait_until_ready(part, layout.prober_socket)
        return part

    def _state(
        self,
        layout: KindLayout,
        made: cluster.Cluster,
        kube: KubeClient,
        pods: dict[str, Any],
        found: dict[str, Place],
        prober_part: Part,
        address: str,
        cost_bytes: int,
    ) -> KindState:
        parts = [_part(part, found[label], layout) for part, label in PARTS.items()]
        return KindState(
            run_id=layout.run_id,
            folder=str(layout.folder),
            parts=(*parts, prober_part),
            ports={**made.ports, "proxy": database.PORT},
            host_address="127.0.0.1",
            db_address="127.0.0.1",
            versions=self._versions(kube, made),
            cgroup_cost_bytes=cost_bytes,
            at_rest={},
            kubeconfig=str(made.kubeconfig),
            kubectl=str(nodeimage.program("kubeall")),
            places=layout.places,
            pods={label: pod.metadata.name for label, pod in pods.items()},
            address=address,
        )

    def _versions(self, kube: KubeClient, made: cluster.Cluster) -> dict[str, str]:
        node = kube.call(kube.core.list_node).items[0].status.node_info
        return {
            "kubernetes": node.kubelet_version,
            "runtime": node.container_runtime_version,
            "mysql": made.images["mysql"],
            "app": made.images["app"],
            "toxiproxy": Toxiproxy(made.ports["toxiproxy"]).version(),
            "nodes": str(len(made.kind.nodes())),
            "kernel": platform.release(),
            "cgroup": f"v{self.tree.version}",
        }


def _make_folder(layout: Layout) -> None:
    layout.folder.mkdir(mode=0o711)
    mark_tree(layout.folder, layout.run_id)
    folder.mount_volumes(layout.volumes, layout.folder.name)


def _layout(base: KindLayout, found: dict[str, Place]) -> KindLayout:
    db = found["database"]
    (base.volumes / db.pod.rpartition("/")[2]).mkdir(exist_ok=True)  # the database's pod has a volume too
    where = {"db": db.pod, "mysqld": db.container, "proxy": found["proxy"].container}
    if "app" in found:
        where["app"] = found["app"].container
    return KindLayout(base.run_id, Path(base.folder), where, db.pid)


def _part(name: str, place: Place, layout: Layout) -> Part:
    return Part(name, place.pid, start_ticks(place.pid) or -1, str(layout.log(name)))
