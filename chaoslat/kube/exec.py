"""Running a program in a container, as `kubectl exec` does: its output, or the reason why there is none.

It is not free for the container: the program, and the runtime until it has started it, are charged to the pod's
cgroup (9 ms of CPU for `ss` and its shell), of which an app with a small CPU limit has none to spare: at 0.25 cores it
took 0.3 s instead of 0.08. So once after a change, not at every block.
"""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import replace
from typing import Any

import urllib3
from kubernetes import stream
from kubernetes.client.exceptions import ApiException
from kubernetes.stream.ws_client import ERROR_CHANNEL, STDERR_CHANNEL, STDOUT_CHANNEL
from websocket import WebSocketException

from chaoslat.errors import SystemLost
from chaoslat.kube.client import DEADLINE_S, KubeClient

_STATUS = re.compile(r'\{"kind":"Status",.*\}')


class PodShell:
    """Runs programs in one container of one pod, one after another."""

    def __init__(self, kube: KubeClient, pod: str, container: str) -> None:
        self.kube, self.pod, self.container = kube, pod, container
        self._own = replace(
            kube
        )  # the client's stream() turns the API client over to websockets while it connects
        self._lock = threading.Lock()

    @property
    def where(self) -> str:
        return f"container {self.container} of pod {self.kube.namespace}/{self.pod}"

    def run(self, *argv: str, deadline_s: float = DEADLINE_S) -> str:
        """What the program printed to its standard output.

        Raises SystemLost when pod or container is not there, the program fails, or it takes longer.
        """
        with self._lock:
            # Connecting has no deadline of its own; a server that is away is noticed here.
            self.kube.call(self.kube.core.read_namespaced_pod, self.pod, self.kube.namespace)
            return self._run(argv, deadline_s)

    def close(self) -> None:
        """Drop the connections."""
        self._own.close()

    def _run(self, argv: tuple[str, ...], deadline_s: float) -> str:
        until_s = time.monotonic() + deadline_s
        connection = self._connect(argv)
        try:
            connection.run_forever(timeout=max(until_s - time.monotonic(), 0.1))
            ended = not connection.is_open()
            out, err, status = (
                connection.read_channel(c) for c in (STDOUT_CHANNEL, STDERR_CHANNEL, ERROR_CHANNEL)
            )
        except (WebSocketException, OSError) as error:
            raise self._lost(argv, str(error)) from error
        finally:
            connection.close()
            connection.sock.shutdown()  # close() leaves it open when the server closed first
        if not ended:
            raise self._lost(argv, f"{deadline_s:.0f} s passed")
        if why := failure(status, err):
            raise self._lost(argv, why)
        return str(out)

    def _connect(self, argv: tuple[str, ...]) -> Any:
        try:
            return stream.stream(
                self._own.core.connect_get_namespaced_pod_exec,
                self.pod,
                self.kube.namespace,
                container=self.container,
                command=list(argv),
                stdout=True,
                stderr=True,
                _preload_content=False,
            )
        except (ApiException, WebSocketException, urllib3.exceptions.HTTPError, OSError) as error:
            raise self._lost(argv, refusal(str(getattr(error, "reason", None) or error))) from error

    def _lost(self, argv: tuple[str, ...], why: str) -> SystemLost:
        return SystemLost(f"{argv[0]} was not run in the pod, or failed", where=self.where, why=why)


def refusal(text: str) -> str:
    """What the API server said, out of the client's account of a handshake that failed."""
    said = _STATUS.search(text)
    return str(json.loads(said[0])["message"]) if said else text.strip()


def failure(status: str, stderr: str) -> str:
    """Why an exec failed, from the status that ends its stream and what the program complained of; empty if it did not.

    A stream that ends without a status was cut: the pod, its node or the API server went away.
    """
    ended = _status(status)
    if ended is None:
        return "the connection was cut before the program ended"
    if ended.get("status") == "Success":
        return ""
    said = str(ended.get("message", "")).strip()
    return "; ".join(part for part in (said, stderr.strip()) if part) or "no reason given"


def _status(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
