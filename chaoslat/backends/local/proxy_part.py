"""The Toxiproxy server of a run, and its one proxy: the address that the app knows as its database."""

from __future__ import annotations

from pathlib import Path

import psutil

from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.backends.local.proxy import Toxiproxy
from chaoslat.cgroup.base import CgroupTree

NAME = "mysql"
HOST = "127.0.0.1"
START_S = 10.0


def start(children: Children, tree: CgroupTree, layout: Layout, program: Path) -> Part:
    """Start the server on any free port of loopback. Raises ChaoslatError."""
    argv = [*tree.launcher(layout.proxy), str(program), "-host", HOST, "-port", "0"]
    return children.start("toxiproxy", argv, layout.log("toxiproxy"), {}, layout.folder)


def wait_until_ready(part: Part) -> int:
    """The port of its API: the kernel chose it, so that no two servers can want the same. Raises `SystemLost`."""
    return wait_for(part, "its API", lambda: _listening(part.pid), START_S)


def _listening(pid: int) -> int:
    try:
        connections = psutil.Process(pid).net_connections("tcp4")
    except psutil.Error as error:
        raise NotYet(str(error)) from error
    ports = [connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN]
    if not ports:
        raise NotYet("it does not listen yet")
    return int(ports[0])


def join(api_port: int, upstream: str) -> int:
    """Make the proxy in front of `upstream`; the port on loopback that it listens on. Raises `SystemLost`."""
    listen = Toxiproxy(api_port).create(NAME, f"{HOST}:0", upstream)
    return int(listen.rpartition(":")[2])
