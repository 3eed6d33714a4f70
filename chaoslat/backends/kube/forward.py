"""Ports of pods on this machine's loopback, by `kubectl port-forward`: no port of the cluster is opened to others."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path

from chaoslat.backends.kube.login import Login
from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.ledger import Ledger

HOST = "127.0.0.1"
START_S = 20.0


def forward(
    children: Children,
    ledger: Ledger,
    login: Login,
    namespace: str,
    pod: str,
    ports: dict[int, int],
    log: Path,
) -> Part:
    """Forward here -> there for one pod, until it is killed; promised as soon as there is a process to be killed.

    Raises SystemLost with what it says when a port is not open in time.
    """
    argv = [str(login.kubectl), f"--kubeconfig={login.kubeconfig}", f"--context={login.context}"]
    argv += ["port-forward", f"--namespace={namespace}", f"--address={HOST}", f"pod/{pod}"]
    argv += [f"{here}:{there}" for here, there in ports.items()]
    part = children.start(f"port-forward {pod}", argv, log, dict(os.environ), log.parent)
    ledger.promise("process", pid=part.pid, start_ticks=part.start_ticks)
    for here in ports:
        wait_for(part, f"port {here}", lambda here=here: _open(here), START_S)  # type: ignore[misc]
    return part


def free_ports(count: int) -> list[int]:
    """Ports of loopback that were free a moment ago; all are held at once, so that they differ."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


def _open(port: int) -> None:
    with socket.socket() as knocking:
        knocking.settimeout(1.0)
        try:
            knocking.connect((HOST, port))
        except OSError as error:
            raise NotYet(str(error)) from error
