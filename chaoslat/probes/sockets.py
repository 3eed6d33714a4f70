"""The app's established sockets to its database address, with what the kernel knows of each connection."""

from __future__ import annotations

import re
import subprocess

from chaoslat.errors import EnvironmentMissing, SystemLost
from chaoslat.model import SocketInfo

DEADLINE_S = 5.0
_ENDPOINTS = re.compile(r"^\s*\d+\s+\d+\s+(?P<local>\S+:\d+)\s+(?P<peer>\S+:\d+)\s*(?P<rest>.*)$")
_OWNER = re.compile(r"\bpid=(\d+)")
_RTT = re.compile(r"\brtt:([0-9.]+)/([0-9.]+)")
_FIELD = {name: re.compile(rf"\b{name}:([0-9.]+)") for name in ("minrtt", "cwnd")}
_RETRANS = re.compile(r"\bretrans:\d+/(\d+)")


def sockets(netns_argv: tuple[str, ...], host: str, port: int, pid: int) -> tuple[SocketInfo, ...]:
    """The sockets of process `pid` to `host:port`; `netns_argv` is a prefix that enters its namespace.

    By hand, in a container beside the app: `ss -tinp state established dst HOST:PORT`. Note what rtt is: the
    smoothed time until an acknowledgement, which rides on the reply when that comes within 40 ms, so that it
    holds the server's think time; minrtt is the smallest of the last 300 s. Raises `SystemLost` when ss
    fails.
    """
    argv = [*netns_argv, "ss", "-tinpHO", "state", "established", "dst", f"{host}:{port}"]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=DEADLINE_S, check=False
        )
    except FileNotFoundError as error:
        raise EnvironmentMissing(
            f"{argv[0]} is missing", why=str(error), fix="apt-get install iproute2"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise SystemLost(
            "ss does not answer", where=" ".join(argv), why=f"{DEADLINE_S:.0f} s passed"
        ) from error
    if done.returncode != 0:
        raise SystemLost("ss failed", where=" ".join(argv), why=done.stderr.strip())
    return parse(done.stdout, pid)


def parse(text: str, pid: int) -> tuple[SocketInfo, ...]:
    """The sockets of process `pid` in the output of `ss -tinpHO`; other lines are left out."""
    found = (_parse_line(line, pid) for line in text.splitlines())
    return tuple(info for info in found if info is not None)


def _parse_line(line: str, pid: int) -> SocketInfo | None:
    ends = _ENDPOINTS.match(line)
    if ends is None or str(pid) not in _OWNER.findall(ends["rest"]):
        return None
    rtt = _RTT.search(ends["rest"])
    numbers = {name: pattern.search(ends["rest"]) for name, pattern in _FIELD.items()}
    if rtt is None:
        return None
    retrans = _RETRANS.search(ends["rest"])  # printed only when there were any
    return SocketInfo(
        local=ends["local"],
        peer=ends["peer"],
        rtt_ms=_number(rtt[1]),
        rttvar_ms=_number(rtt[2]),
        minrtt_ms=_of(numbers["minrtt"]),
        cwnd=int(_of(numbers["cwnd"])),
        retrans=int(retrans[1]) if retrans else 0,
    )


def _of(match: re.Match[str] | None) -> float:
    return _number(match[1]) if match else 0.0


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
