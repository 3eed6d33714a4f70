"""A new TCP connection to the app's database address: how long it takes, and the kernel's minrtt of it."""

from __future__ import annotations

import socket
import struct
import time

from chaoslat.errors import SystemLost
from chaoslat.model import FreshConnect

TRIES = 3
DEADLINE_S = 5.0
# Offset of tcpi_min_rtt (u32, microseconds) in struct tcp_info, linux/tcp.h; there since kernel 4.6.
_MIN_RTT_OFFSET = 148
_TCP_INFO_BYTES = 256


def fresh_connect(host: str, port: int) -> FreshConnect:
    """The quickest of three connections from the caller's network namespace: machine noise only ever adds.

    Sees delay on the wire at once, where pooled sockets remember an old minrtt for 300 s, and is blind to a
    delay inside a user-space proxy, which shakes hands itself. By hand: `time nc -z HOST PORT`, or a
    blackbox exporter's TCP module, and `ss -tin` on the new socket. Raises `SystemLost`.
    """
    return min((_connect(host, port) for _ in range(TRIES)), key=lambda seen: seen.connect_ms)


def _connect(host: str, port: int) -> FreshConnect:
    target = f"{host}:{port}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.settimeout(DEADLINE_S)
        begin_s = time.perf_counter()
        try:
            sock.connect((host, port))
        except OSError as error:
            raise SystemLost(
                "The database's address takes no new connection", where=target, why=str(error)
            ) from error
        connect_ms = (time.perf_counter() - begin_s) * 1000
        return FreshConnect(target, connect_ms, min_rtt_ms(_tcp_info(sock)))


def _tcp_info(sock: socket.socket) -> bytes:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)


def min_rtt_ms(tcp_info: bytes) -> float:
    """tcpi_min_rtt of a struct tcp_info in ms; 0 where the kernel does not know it."""
    if len(tcp_info) < _MIN_RTT_OFFSET + 4:
        return 0.0
    (min_rtt_us,) = struct.unpack_from("=I", tcp_info, _MIN_RTT_OFFSET)
    return 0.0 if min_rtt_us == 0xFFFFFFFF else min_rtt_us / 1000
