"""The no-op prober of a run: a small process beside the app, outside the app's cgroup."""

from __future__ import annotations

import sys
from pathlib import Path

from chaoslat.backends.local.layout import Layout
from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.cgroup.base import CgroupTree
from chaoslat.parts.mysql_seed import PROBE
from chaoslat.probes import prober

START_S = 10.0


def start(children: Children, tree: CgroupTree, layout: Layout, db_host: str, db_port: int) -> Part:
    """Start it; it connects to the address that the app is configured with. Raises ChaoslatError."""
    # -I: nothing of the caller's environment or folder is imported.
    argv = [*tree.launcher(layout.probe), sys.executable, "-I", prober.__file__]
    return children.start(
        "prober", argv, layout.log("prober"), environment(layout, db_host, db_port), layout.folder
    )


def environment(layout: Layout, db_host: str, db_port: int) -> dict[str, str]:
    """What the prober has to know."""
    return {
        "PROBER_SOCKET": str(layout.prober_socket),
        "PROBER_HOST": db_host,
        "PROBER_PORT": str(db_port),
        "PROBER_USER": PROBE.user,
        "PROBER_PASSWORD": PROBE.password,
    }


def wait_until_ready(part: Part, socket: Path) -> None:
    """Until it listens. Raises `SystemLost`."""
    wait_for(part, "its socket", lambda: _there(socket), START_S)


def _there(socket: Path) -> None:
    if not socket.is_socket():
        raise NotYet(f"{socket} is not there")
