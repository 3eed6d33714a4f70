"""Undo of a change to a cluster: one kubectl command, which a process without any package can run."""

from __future__ import annotations

import subprocess

from chaoslat.ledger.ledger import Entry

DEADLINE_S = 10.0
_GONE = (
    "connection refused",
    "not found",
    "no such host",
    "no such file",
    "unable to connect to the server: dial",
)


def kube(entry: Entry) -> None:
    """Run the entry's command; a cluster, or an object, that is gone has nothing to be undone.

    Raises CalledProcessError when the API server refuses, TimeoutExpired when it does not answer.
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
    if done.returncode and not any(word in done.stderr.lower() for word in _GONE):
        raise subprocess.CalledProcessError(done.returncode, argv, done.stdout, done.stderr)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("argv is not a list")
    return value
