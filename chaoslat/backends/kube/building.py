"""Makes a system in a namespace of a cluster that exists, in order: what must be undone is promised first."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chaoslat import paths
from chaoslat.backends.kind import workloads
from chaoslat.backends.kind.reach import until_it_answers
from chaoslat.backends.kube import manifests, namespace, seed
from chaoslat.backends.kube.forward import forward, free_ports
from chaoslat.backends.kube.login import Login, enter
from chaoslat.backends.kube.settings import IMAGES, Settings
from chaoslat.backends.kube.state import APP_CONTAINER, KubeState
from chaoslat.backends.local import database
from chaoslat.backends.local.builder import Builder
from chaoslat.backends.local.parts import Part
from chaoslat.backends.local.proxy import Toxiproxy
from chaoslat.backends.pods.beside import Beside, Tools
from chaoslat.backends.pods.place import Place
from chaoslat.kube import access, apply
from chaoslat.kube.access import Mode
from chaoslat.kube.client import KubeClient
from chaoslat.ledger import scoped
from chaoslat.parts.mysql_seed import PROBE, MysqlSeed
from chaoslat.probes.mysql import MysqlAddress, MysqlSession

THERE = {"app": 8080, "admin": 8081, "toxiproxy": 8474, "mysql": database.PORT}
"""Ports as the pods have them."""


@dataclass
class KubeBuilder(Builder[KubeState]):
    """All parts of a system, in a namespace that is ours or lent to us."""

    settings: Settings = field(default_factory=Settings)

    def build(self) -> KubeState:
        self._say("asking the cluster what is allowed")
        login = enter(self.ledger.folder, self.settings.context, self.settings.kubeconfig)
        kube = login.client(self.settings.namespace or scoped(self.ledger.run_id))
        try:
            self._claim(kube, login)
            return self._system(kube, login)
        finally:
            kube.close()

    def _claim(self, kube: KubeClient, login: Login) -> None:
        """Permissions first; those for a namespace only where one has to be made."""
        access.check(kube, (Mode.TRIAL, Mode.DEBUG))
        if namespace.labels_of(kube) is None:
            access.check(kube, (Mode.NAMESPACE,))
        made = namespace.claim(kube, login, self.ledger.run_id, self.ledger.promise)
        self._say(f"namespace {kube.namespace} ({'made for this run' if made else 'lent to us'})")

    def _system(self, kube: KubeClient, login: Login) -> KubeState:
        images = {name: self.settings.image(name) for name in IMAGES}
        filled = manifests.values(self.ledger.run_id, images, kube.namespace)
        files = self.ledger.folder / "files"
        files.mkdir()
        found = MysqlSeed(paths.cache_root(), system=False).install(self.progress)
        self._say("starting database and proxy")
        for name in ("database", "proxy"):
            apply.create(kube, manifests.objects(name, filled))
        self._say("sending the database's seed")
        seed.send(login, kube, "database", found.path)
        pods = {name: workloads.ready(kube, name) for name in ("database", "proxy")}
        ports = dict(zip(THERE, free_ports(len(THERE)), strict=True))
        parts = [self._forward(login, kube, pods["proxy"], {ports["toxiproxy"]: THERE["toxiproxy"]}, files)]
        until_it_answers(f"http://127.0.0.1:{ports['toxiproxy']}/version")
        workloads.join(kube, ports["toxiproxy"])
        self._say("starting the app")
        apply.create(kube, manifests.objects("app", filled))
        pods["app"] = workloads.ready(kube, "app")
        app_ports = {ports[name]: THERE[name] for name in ("app", "admin")}
        parts.append(self._forward(login, kube, pods["app"], app_ports, files))
        parts.append(self._forward(login, kube, pods["database"], {ports["mysql"]: THERE["mysql"]}, files))
        until_it_answers(f"http://127.0.0.1:{ports['app']}/healthz")
        address = workloads.service_address(kube, "proxy")
        self._warm(kube, pods["app"].metadata.name, address, images["tools"], ports["mysql"])
        return self._state(kube, login, pods, parts, ports, address, images, files)

    def _forward(self, login: Login, kube: KubeClient, pod: Any, ports: dict[int, int], files: Path) -> Part:
        name = pod.metadata.name
        return forward(
            self.children, self.ledger, login, kube.namespace, name, ports, files / f"forward-{name}.log"
        )

    def _warm(self, kube: KubeClient, app: str, address: str, tools: str, port: int) -> None:
        """Log in once from where a first login can be made, and read the table once.

        The first login of an account after a start needs TLS, which the server has not, or a key exchange, for which
        the tools image has the library; the server remembers it for later ones.
        """
        self._say("debug container beside the app; reading the table once")
        login = MysqlAddress(address, database.PORT, PROBE.user, PROBE.password)
        beside = Beside(kube, Place(app, APP_CONTAINER), login, Tools(tools))
        try:
            beside.session.rows("SELECT 1")
        finally:
            beside.close(stop=False)
        session = MysqlSession(MysqlAddress("127.0.0.1", port, PROBE.user, PROBE.password))
        try:
            database.scan(session)
        finally:
            session.close()

    def _state(
        self,
        kube: KubeClient,
        login: Login,
        pods: dict[str, Any],
        parts: list[Part],
        ports: dict[str, int],
        address: str,
        images: dict[str, str],
        files: Path,
    ) -> KubeState:
        return KubeState(
            run_id=self.ledger.run_id,
            folder=str(files),
            parts=tuple(parts),
            ports={**ports, "proxy": database.PORT},
            host_address="127.0.0.1",
            db_address="127.0.0.1",
            versions={**images, "toxiproxy": Toxiproxy(ports["toxiproxy"]).version()},
            cgroup_cost_bytes=0,
            at_rest={},
            kubectl=str(login.kubectl),
            kubeconfig=str(login.kubeconfig),
            context=login.context,
            namespace=kube.namespace,
            pods={label: pod.metadata.name for label, pod in pods.items()},
            address=address,
            tools_image=images["tools"],
        )
