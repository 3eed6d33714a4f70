"""The app's connections to its database, seen from a debug container in its pod: one shot, and once a second.

The app's own container is not root and has no `ss`. The monitor's log is in the cluster: `kubectl logs POD -c NAME`
shows what we saw, and what was before we looked. Both are charged to the pod: 5 ms of CPU for a shot of the monitor,
9 ms for one shot by hand, which a program has to be started for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from chaoslat.kube.client import KubeClient
from chaoslat.kube.debug import Debug, attach
from chaoslat.kube.exec import PodShell
from chaoslat.kube.follow import Follower, Line
from chaoslat.model import SocketInfo
from chaoslat.probes.sockets import parse

SCRIPT = Path(__file__).with_name("sockets.sh")
STOP = ("touch", "/tmp/stop")
_END = "end"


@dataclass(frozen=True, slots=True)
class Destination:
    """The database as the app knows it: all addresses, when none is given."""

    port: int
    address: str = ""

    @property
    def filter(self) -> tuple[str, ...]:
        """In the words of ss."""
        if not self.address:
            return ("dport", "=", f":{self.port}")
        host = f"[{self.address}]" if ip_address(self.address).version == 6 else self.address
        return ("dst", f"{host}:{self.port}")

    def command(self, mode: str) -> tuple[str, ...]:
        """`once` or `monitor`."""
        return ("sh", "-c", SCRIPT.read_text(), "sockets", mode, *self.filter)


@dataclass(frozen=True, slots=True)
class Shot:
    """The connections at one instant, on the node's wall clock."""

    at_s: float
    sockets: tuple[SocketInfo, ...]


class SocketWatch:
    """A debug container in the app's pod that logs the app's connections once a second, from when it is made.

    Where one runs in the pod already, for the same destination, that one is used. Raises SystemLost.
    """

    def __init__(
        self, kube: KubeClient, pod: str, container: str, destination: Destination, image: str, pull: str
    ) -> None:
        self._destination = destination
        debug = Debug(pod, container, image, destination.command("monitor"), pull)
        self.name = attach(kube, debug)
        self._shell = PodShell(kube, pod, self.name)
        self._log = Follower(kube, pod, self.name)

    def once(self) -> tuple[SocketInfo, ...]:
        """The connections now. Raises SystemLost."""
        text = self._shell.run(*self._destination.command("once"))
        (shot,) = shots(Line(0.0, line) for line in text.splitlines())
        return shot.sockets

    def monitor(self) -> tuple[Shot, ...]:
        """What the log held since we follow it, the oldest first. Raises SystemLost when it broke off."""
        return tuple(shots(from_whole(self._log.lines())))

    def stop(self) -> None:
        """End the debug container, within a second. Raises SystemLost."""
        self._shell.run(*STOP)

    def close(self) -> None:
        """Stop following and drop the connections; the debug container goes on."""
        self._log.close()
        self._shell.close()


def from_whole(lines: Iterable[Line]) -> Iterator[Line]:
    """From the first shot on that is whole for certain: who follows may begin in the middle of one."""
    begun = False
    for line in lines:
        if begun:
            yield line
        begun = begun or _is_end(line)


def shots(lines: Iterable[Line]) -> Iterator[Shot]:
    """The shots that are complete. A shot is lines of ss, then `end` and the numbers of the app's processes."""
    taken: list[str] = []
    for line in lines:
        if _is_end(line):
            yield Shot(line.at_s, of_processes(taken, map(int, line.text.split()[1:])))
            taken = []
        else:
            taken.append(line.text)


def of_processes(lines: Iterable[str], pids: Iterable[int]) -> tuple[SocketInfo, ...]:
    """The sockets that one of these processes has, each once: a fork shares those of its parent."""
    text = "\n".join(lines)
    return tuple({(one.local, one.peer): one for pid in pids for one in parse(text, pid)}.values())


def _is_end(line: Line) -> bool:
    return line.text.split(" ", 1)[0] == _END
