"""Undo of a change to a cluster: one kubectl command, which a process without any package can run."""

from __future__ import annotations

import os
import subprocess

from chaoslat.ledger.ledger import Entry

DEADLINE_S = 10.0
_OBJECT_GONE = ("not found",)
_CLUSTER_GONE = (
    "connection refused",
    "no such host",
    "no such file",
    "unable to connect to the server: dial",
)


def kube(entry: Entry) -> None:
    """Run the entry's command; a cluster, or an object, that is gone has nothing to be undone.

    `existing`: the cluster was there before the run and is not gone when it does not answer: heal again later.

    Raises OSError with its words when the API server refuses, TimeoutExpired when it does not answer.
    """
    args = [str(arg) for arg in _list(entry.args["argv"])]
    argv = [
        "kubectl",
        f"--kubeconfig={entry.args['kubeconfig']}",
        f"--request-timeout={DEADLINE_S:.0f}s",
        *args,
    ]
    done = subprocess.run(
        argv,
        executable=str(entry.args["kubectl"]),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )
    gone = _OBJECT_GONE if entry.args.get("existing") else (*_OBJECT_GONE, *_CLUSTER_GONE)
    if done.returncode and not any(word in done.stderr.lower() for word in gone):
        said = f"kubectl {' '.join(args[:4])}: {done.stderr.strip()}"
        silent = any(word in said.lower() for word in _CLUSTER_GONE)
        raise OSError(f"{said}{_forget(str(entry.args['kubeconfig'])) if silent else ''}")


def _forget(kubeconfig: str) -> str:
    """The way out where a cluster that was to stay is gone."""
    return f" (when that cluster is gone for good: rm -r {os.path.dirname(kubeconfig)})"


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("argv is not a list")
    return value
