"""A container engine of our own, for one run: nothing of the machine's own is used, changed or left behind.

It has its own socket, configuration and folder below /run, and no bridge. It changes neither the firewall nor the
forwarding of packets: ports are published by a process, as docker-proxy does it. Only its images stay, in the cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from chaoslat.cgroup import detect
from chaoslat.engine import data, runtime
from chaoslat.engine.docker import Docker
from chaoslat.engine.promise import Promise
from chaoslat.engine.run import find
from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.ledger import scoped
from chaoslat.ledger.ledger import Entry
from chaoslat.ledger.marks import mark_tree
from chaoslat.ledger.undo_engine import engine as undo_engine

START_S = 30.0
_PAUSE_S = 0.05
_LOG_LINES = 15
NOWHERE = "203.0.113.53"
"""A name server that does not exist (TEST-NET-3): an engine asks others on a container's behalf, this one cannot."""


@dataclass(frozen=True, slots=True)
class PrivateEngine:
    """`folder` is the engine's, named after the run; `data` keeps the images."""

    run_id: str
    folder: Path
    data: Path

    @property
    def docker(self) -> Docker:
        return Docker(f"unix://{self.folder}/docker.sock")

    @property
    def log(self) -> Path:
        return self.folder / "dockerd.log"

    @property
    def cgroup(self) -> str:
        return f"{scoped(self.run_id)}/engine"

    @property
    def undo(self) -> dict[str, str]:
        """The arguments of the ledger's entry `engine`."""
        return {"folder": str(self.folder), "data": str(self.data)}

    def stop(self) -> None:
        """Kill it with all that runs on it, and clear up. Stopped already is fine. Raises OSError, TimeoutError."""
        undo_engine(Entry(0, "engine", self.undo, self.run_id))


def start(run_id: str, data_folder: Path, promise: Promise) -> PrivateEngine:
    """Start one; its undo is promised first.

    Raises EnvironmentMissing without root or when a program is missing, Busy when another run has one, ChaoslatError
    with the end of its log when it does not come up.
    """
    engine = PrivateEngine(run_id, Path("/run") / scoped(run_id), data_folder)
    _refuse_unprivileged()
    with data.locked(data_folder) as lock:
        data.keep_only_images(data_folder)
        promise("engine", **engine.undo)
        engine.folder.mkdir(mode=0o700)
        mark_tree(engine.folder, run_id)
        _launch(engine, lock)
        _wait(engine)
    return engine


def settings(engine: PrivateEngine, shim: Path | None) -> dict[str, object]:
    """The engine's daemon.json(5); `shim` is the runtime to use, None is runc itself."""
    chosen: dict[str, object] = {
        "data-root": str(engine.data),
        "exec-root": str(engine.folder / "exec"),
        "pidfile": str(engine.folder / "docker.pid"),
        "hosts": [engine.docker.host],
        "group": "root",
        "storage-driver": "overlay2",
        "bridge": "none",
        "iptables": False,
        "ip-forward": False,
        "ip-masq": False,
        "dns": [NOWHERE],
        "cgroup-parent": f"/{scoped(engine.run_id)}/nodes",
        "exec-opts": ["native.cgroupdriver=cgroupfs"],
        "log-level": "warn",
        "shutdown-timeout": 1,
    }
    if shim is not None:
        chosen |= {"runtimes": {runtime.NAME: {"path": str(shim)}}, "default-runtime": runtime.NAME}
    return chosen


def _launch(engine: PrivateEngine, lock: int) -> None:
    """Start the daemon in the run's cgroup, and not as our child: it outlives us until it is undone."""
    dockerd, runc = find("dockerd"), find("runc")
    shim = runtime.write_script(engine.folder, runc) if runtime.needed() else None
    config = engine.folder / "daemon.json"
    config.write_text(json.dumps(settings(engine, shim), indent=2) + "\n")
    tree = detect()
    tree.create(engine.cgroup)
    with engine.log.open("wb") as log:
        subprocess.run(
            [
                *tree.launcher(engine.cgroup),
                find("setsid"),
                "--fork",
                dockerd,
                "--config-file",
                str(config),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={"PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"},
            pass_fds=(lock,),
            cwd="/",
            check=True,
        )


def _wait(engine: PrivateEngine) -> None:
    end_s = time.monotonic() + START_S
    while not _answers(engine.docker):
        if not detect().pids(engine.cgroup) or time.monotonic() > end_s:
            raise ChaoslatError(
                "The container engine did not start",
                where=str(engine.log),
                why="\n         ".join(engine.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]),
            )
        time.sleep(_PAUSE_S)


def _answers(docker: Docker) -> bool:
    try:
        docker.version()
    except EnvironmentMissing:
        return False
    return True


def _refuse_unprivileged() -> None:
    if os.geteuid() != 0:
        raise EnvironmentMissing(
            "No container engine is reachable, and a private one takes root",
            fix="run it with sudo, or start a docker engine that you may use",
        )
