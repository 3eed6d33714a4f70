"""A program that runs in a container and is talked to: one line of JSON each way, over one exec that stays open.

Starting a program for each question would cost the container's pod more than most answers; and it ends with us,
since its standard input ends then.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import urllib3
from kubernetes import stream
from kubernetes.client.exceptions import ApiException
from kubernetes.stream.ws_client import STDERR_CHANNEL
from websocket import WebSocketException

from chaoslat.errors import SystemLost
from chaoslat.kube.client import DEADLINE_S, KubeClient
from chaoslat.kube.exec import refusal


class Conversation:
    """Questions and answers with the program `argv` in a container, one at a time, from any thread."""

    def __init__(self, kube: KubeClient, pod: str, container: str, argv: tuple[str, ...]) -> None:
        self._kube, self._pod, self._container, self._argv = kube, pod, container, argv
        self._own = replace(kube)  # the client's stream() turns the API client over to websockets
        self._lock = threading.Lock()
        self._open: Any = None

    @property
    def where(self) -> str:
        return f"container {self._container} of pod {self._kube.namespace}/{self._pod}"

    def ask(self, question: Mapping[str, Any], deadline_s: float = DEADLINE_S) -> dict[str, Any]:
        """The answer. Raises SystemLost when the program cannot be started, has ended, or does not answer in time."""
        with self._lock:
            try:
                connection = self._open = self._open or self._connect()
                connection.write_stdin(json.dumps(question) + "\n")
                line = connection.readline_stdout(timeout=deadline_s)
            except (WebSocketException, OSError) as error:
                raise self._lost(str(error)) from error
            if not line:
                raise self._lost(self._said(connection) or f"no answer within {deadline_s:.0f} s")
            return self._parsed(str(line))

    def close(self) -> None:
        """End the program. May be called twice."""
        with self._lock:
            self._drop()
        self._own.close()

    def _parsed(self, line: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError as error:
            raise self._lost(f"it says {line[:80]!r}") from error
        return answer

    def _connect(self) -> Any:
        self._kube.call(
            self._kube.core.read_namespaced_pod, self._pod, self._kube.namespace
        )  # has a deadline
        try:
            return stream.stream(
                self._own.core.connect_get_namespaced_pod_exec,
                self._pod,
                self._kube.namespace,
                container=self._container,
                command=list(self._argv),
                stdin=True,
                stdout=True,
                stderr=True,
                _preload_content=False,
            )
        except (ApiException, WebSocketException, urllib3.exceptions.HTTPError, OSError) as error:
            raise self._lost(refusal(str(getattr(error, "reason", None) or error))) from error

    def _said(self, connection: Any) -> str:
        """The last line of what the program complained of."""
        with contextlib.suppress(WebSocketException, OSError):
            return (str(connection.read_channel(STDERR_CHANNEL)).strip().splitlines() or [""])[-1]
        return ""

    def _lost(self, why: str) -> SystemLost:
        self._drop()
        return SystemLost(f"{self._argv[0]} in the pod does not answer", where=self.where, why=why)

    def _drop(self) -> None:
        if self._open is not None:
            with contextlib.suppress(WebSocketException, OSError):
                self._open.close()
                self._open.sock.shutdown()  # close() leaves it open when the server closed first
        self._open = None
