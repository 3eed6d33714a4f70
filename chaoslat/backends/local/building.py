"""Makes the parts of a local system, in order: what must be undone is promised first, then everything is made."""

from __future__ import annotations

import platform
from concurrent.futures import Future, ThreadPoolExecutor

from chaoslat import paths
from chaoslat.backends.local import app, database, folder, memory, network, prober_part, proxy_part
from chaoslat.backends.local.builder import Builder
from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.network import Link
from chaoslat.backends.local.parts import Part
from chaoslat.backends.local.proxy import Toxiproxy
from chaoslat.backends.local.state import State
from chaoslat.cgroup.realtime import allow_realtime
from chaoslat.parts import all_parts
from chaoslat.parts.base import Found, need
from chaoslat.parts.mysql_seed import PROBE, MysqlSeed
from chaoslat.probes.mysql import MysqlAddress, MysqlSession


class LocalBuilder(Builder[State]):
    """All parts of a local system."""

    def build(self) -> State:
        found = {part.name: part for part in map(need, (part.find() for part in all_parts()))}
        layout = Layout(self.ledger.run_id, folder.choose(self.ledger.run_id))
        self._promise(layout)
        self._say("copying the database's seed, making cgroups and network")
        link = self._ground(layout)
        self._say(f"starting {found['mysql'].version} and Toxiproxy {found['toxiproxy'].version}")
        return self._processes(layout, link, found)

    def _promise(self, layout: Layout) -> None:
        """In the order of making: undone from the last to the first, so the cgroups go first, with all processes."""
        self.ledger.promise("tree", path=str(layout.folder))
        self.ledger.promise("mount", path=str(layout.volumes))
        self.ledger.promise("netns", name=layout.netns)
        self.ledger.promise("link", name=layout.host_link)
        self.ledger.promise("cgroup", paths=list(self.tree.directories(layout.cgroup)))

    def _ground(self, layout: Layout) -> Link:
        """What the processes stand on: folder with data and volumes, cgroups, network."""
        folder.make(layout)
        with ThreadPoolExecutor(3) as pool:
            jobs: list[Future[object]] = [
                pool.submit(MysqlSeed(paths.cache_root()).copy, layout.db_data),
                pool.submit(self._cgroups, layout),
            ]
            link = pool.submit(network.join, layout)
            for job in jobs:
                job.result()
            return link.result()

    def _cgroups(self, layout: Layout) -> None:
        for path in layout.leaves:
            self.tree.create(path)
        allow_realtime(self.tree, layout.load)  # a busy machine must not make the load late

    def _processes(self, layout: Layout, link: Link, found: dict[str, Found]) -> State:
        mysqld = database.start(self.children, self.tree, layout, link.db)
        toxiproxy = proxy_part.start(self.children, self.tree, layout, found["toxiproxy"].path)
        api_port = proxy_part.wait_until_ready(toxiproxy)
        proxy_port = proxy_part.join(api_port, f"{link.db}:{database.PORT}")
        node = app.start(self.children, self.tree, layout, found["node"].path, proxy_port)
        prober = prober_part.start(self.children, self.tree, layout, proxy_part.HOST, proxy_port)
        cost_bytes = self._fill_and_limit(mysqld, layout, link)
        self._say("waiting for the app")
        ports = app.wait_until_ready(node)
        prober_part.wait_until_ready(prober, layout.prober_socket)
        return State(
            run_id=layout.run_id,
            folder=str(layout.folder),
            parts=(mysqld, toxiproxy, node, prober),
            ports={
                "app": ports.port,
                "admin": ports.admin_port,
                "proxy": proxy_port,
                "toxiproxy": api_port,
                "mysql": database.PORT,
            },
            host_address=link.host,
            db_address=link.db,
            versions=self._versions(found, api_port),
            cgroup_cost_bytes=cost_bytes,
            at_rest={},
        )

    def _fill_and_limit(self, mysqld: Part, layout: Layout, link: Link) -> int:
        """Fill the database's caches, and set the memory limit of its pod. Returns the cost of a leaked cgroup."""
        database.wait_until_ready(mysqld, layout)
        self._say("reading the table once and setting the memory limit")
        session = MysqlSession(MysqlAddress(link.db, database.PORT, PROBE.user, PROBE.password))
        try:
            database.scan(session)
        finally:
            session.close()
        cost_bytes = memory.cgroup_cost_bytes(self.tree, layout)
        memory.set_limit(self.tree, layout, cost_bytes)
        return cost_bytes

    def _versions(self, found: dict[str, Found], api_port: int) -> dict[str, str]:
        names = ("mysql", "node", "iproute2")
        return {
            **{name: found[name].version for name in names},
            "toxiproxy": Toxiproxy(api_port).version(),
            "kernel": platform.release(),
            "cgroup": f"v{self.tree.version}",
        }
