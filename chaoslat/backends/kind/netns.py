"""Connecting from another process's network namespace: a socket belongs to the one that it was made in."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from pyroute2 import netns

from chaoslat import probes
from chaoslat.errors import SystemLost
from chaoslat.model import FreshConnect


def fresh_connect_in(pid: int, host: str, port: int) -> FreshConnect:
    """`probes.fresh_connect` from the network namespace of process `pid`. Raises SystemLost.

    In a thread of its own, which enters the namespace and ends there: namespaces are a property of threads.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_entered, pid, host, port).result()


def _entered(pid: int, host: str, port: int) -> FreshConnect:
    try:
        fd = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    except OSError as error:
        raise SystemLost("The app's pod is gone", where=f"process {pid}", why=str(error)) from error
    try:
        netns.setns(fd)
    finally:
        os.close(fd)
    return probes.fresh_connect(host, port)
