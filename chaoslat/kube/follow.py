"""A container's log, followed as it is written: each line with the node's time of writing."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import urllib3

from chaoslat.errors import SystemLost
from chaoslat.kube.client import KubeClient


@dataclass(frozen=True, slots=True)
class Line:
    """`at_s`: the node's wall clock when the container's runtime read the line."""

    at_s: float
    text: str


class Follower:
    """Follows a log from now on, in a thread of its own, and keeps what it saw.

    For logs that grow all the time: it reads with the deadline of every call, so a log that is silent for longer
    (KubeClient's DEADLINE_S) counts as lost.
    """

    def __init__(self, kube: KubeClient, pod: str, container: str) -> None:
        self._kube, self._pod, self._container = kube, pod, container
        self._seen: list[Line] = []
        self._lost = ""
        self._closed = threading.Event()
        self._response = self._open()
        self._thread = threading.Thread(target=self._follow, name=f"log of {container}", daemon=True)
        self._thread.start()

    def lines(self) -> tuple[Line, ...]:
        """All so far, the oldest first. Raises SystemLost when the log broke off."""
        if self._lost:
            where = f"container {self._container} of pod {self._kube.namespace}/{self._pod}"
            raise SystemLost("A log broke off", where=where, why=self._lost)
        return tuple(self._seen)

    def close(self) -> None:
        """Stop following; it ends with the next line, or with the deadline."""
        self._closed.set()
        self._thread.join()

    def _open(self) -> Any:
        return self._kube.call(
            self._kube.core.read_namespaced_pod_log,
            self._pod,
            self._kube.namespace,
            container=self._container,
            follow=True,
            timestamps=True,
            tail_lines=0,
            _preload_content=False,
        )

    def _follow(self) -> None:
        try:
            self._keep()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            self._lost = "" if self._closed.is_set() else str(error)
        finally:
            with contextlib.suppress(OSError, urllib3.exceptions.HTTPError):
                self._response.close()

    def _keep(self) -> None:
        for text in split(self._response.stream(amt=None)):
            self._seen.append(stamped(text))
            if self._closed.is_set():
                return
        self._lost = "its container ended"


def split(chunks: Iterable[bytes]) -> Iterator[str]:
    """The whole lines of a stream."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace") for line in whole)


def stamped(text: str) -> Line:
    """A line that begins with its time, RFC 3339 with nanoseconds. Raises ValueError when it does not."""
    stamp, _, rest = text.partition(" ")
    return Line(datetime.fromisoformat(stamp).timestamp(), rest)
