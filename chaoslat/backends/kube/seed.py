"""The database's data directory, sent to its pod through the API server: 400 MB, about 100 MB on the way."""

from __future__ import annotations

import gzip
import subprocess
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from chaoslat.backends.kube.login import Login
from chaoslat.backends.kube.manifests import COMPLETE
from chaoslat.errors import SystemLost
from chaoslat.kube.apply import pods, why_not
from chaoslat.kube.client import KubeClient
from chaoslat.waiting import retrying

CONTAINER = "mysql"
DATA = "/var/lib/mysql"
START_S, SEND_S = 120.0, 300.0
POLL_S = 0.25
_UNPACK = f"/bin/busybox tar -xzf - -C {DATA} && : > {COMPLETE}"


class _NotYet(Exception):
    """The container does not run yet."""


def send(login: Login, kube: KubeClient, app: str, seed: Path) -> None:
    """Fill the data directory of the one pod with label app=`app`, and let its server start. Raises SystemLost."""
    pod = _running(kube, app)
    argv = [str(login.kubectl), f"--kubeconfig={login.kubeconfig}", f"--context={login.context}"]
    argv += ["exec", "-i", pod, f"--namespace={kube.namespace}", f"--container={CONTAINER}", "--"]
    process = subprocess.Popen(
        [*argv, "sh", "-c", _UNPACK],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        with suppress(BrokenPipeError):  # it says why on its standard error
            _pack(seed, process.stdin)
        _, said = process.communicate(timeout=SEND_S)
    except subprocess.TimeoutExpired as error:
        raise SystemLost("The seed was not sent in time", where=pod, why=f"{SEND_S:.0f} s passed") from error
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise SystemLost("The seed was not sent", where=pod, why=said.decode(errors="replace").strip())


def _pack(seed: Path, into: Any) -> None:
    packed = gzip.GzipFile(fileobj=into, mode="wb", compresslevel=1)
    with packed, tarfile.open(fileobj=packed, mode="w|") as archive:
        archive.add(seed, arcname=".")
    into.flush()


def _running(kube: KubeClient, app: str) -> str:
    """The pod's name once its container runs. Raises SystemLost with events when it does not."""

    try:
        return str(retrying(_NotYet, START_S, POLL_S)(_running_now, kube, app))
    except _NotYet as last:
        what = f"{app} did not start within {START_S:.0f} s"
        raise SystemLost(what, where=kube.namespace, why=why_not(kube, app, str(last))) from last


def _running_now(kube: KubeClient, app: str) -> str:

    for pod in pods(kube, app):
        states = [one.state for one in pod.status.container_statuses or ()]
        if states and all(state.running for state in states):
            return str(pod.metadata.name)
    raise _NotYet("its container does not run yet")
