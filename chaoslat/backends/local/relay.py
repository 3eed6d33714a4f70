"""Delays packets between two network namespaces: `relay.py NETNS NEAR FAR NEAR_DEVICE FAR_DEVICE DELAY_MS`.

For a kernel without netem. A TUN device on each side, and on each side a route to the other's address through it: a
route to one address goes before the one to its network, for connections that are open already, too. Half of the delay
each way. Starts when it reads a line. When it ends, however, its devices go, their routes with them, and the packets
take their old way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import sys
import time
from collections import deque

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
LARGEST_BYTES = 65_535


def tun(name: str) -> int:
    """A TUN device in this namespace, as the file that its packets are read from and written to."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def ip(*words: str) -> None:
    subprocess.run(("ip", *words), check=True, timeout=10)


def join(netns: str, near: str, far: str, near_device: str, far_device: str) -> tuple[int, int]:
    """Both devices, each with its route; the near one in this namespace, the far one in `netns`."""
    here, there = tun(near_device), tun(far_device)
    ip("link", "set", far_device, "netns", netns)
    ip("-n", netns, "link", "set", far_device, "up")
    ip("link", "set", near_device, "up")
    ip("-n", netns, "route", "add", f"{near}/32", "dev", far_device, "src", far)
    ip("route", "add", f"{far}/32", "dev", near_device, "src", near)
    return here, there


class Queue:
    """The packets under way to one device: a constant delay keeps their order."""

    def __init__(self, into: int, delay_s: float) -> None:
        self._into, self._delay_s = into, delay_s
        self._under_way: deque[tuple[float, bytes]] = deque()

    def take(self, device: int) -> None:
        """All that can be read from the other device now."""
        due_s = time.monotonic() + self._delay_s
        while packet := _read(device):
            self._under_way.append((due_s, packet))

    def deliver(self) -> float:
        """Hand over what is due; the time when the next will be."""
        while self._under_way and self._under_way[0][0] <= time.monotonic():
            _write(self._into, self._under_way.popleft()[1])
        return self._under_way[0][0] if self._under_way else float("inf")


def relay(here: int, there: int, delay_s: float) -> None:
    """Never returns."""
    ways = {here: Queue(there, delay_s), there: Queue(here, delay_s)}
    while True:
        next_s = min(queue.deliver() for queue in ways.values())
        wait_s = None if next_s == float("inf") else max(next_s - time.monotonic(), 0.0)
        for device in select.select(list(ways), [], [], wait_s)[0]:
            ways[device].take(device)


def _read(device: int) -> bytes:
    try:
        return os.read(device, LARGEST_BYTES)
    except BlockingIOError:
        return b""


def _write(device: int, packet: bytes) -> None:
    with contextlib.suppress(OSError):  # a network may lose a packet; it is sent again
        os.write(device, packet)


if __name__ == "__main__" and sys.stdin.readline():
    near_file, far_file = join(*sys.argv[1:6])
    print("ready", flush=True)
    relay(near_file, far_file, float(sys.argv[6]) / 2000)
