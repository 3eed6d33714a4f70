"""A higher scheduling priority for the generator, so that a busy machine delays the requests less."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

NICE = -10
WANTED = ("realtime", "nice", "normal")


def raise_priority(wanted: str = "realtime") -> str:
    """Take the best that is allowed, from `wanted` down; says what was had: `SCHED_RR 1`, `nice -10`,
    `normal`.

    Round robin needs CAP_SYS_NICE or RLIMIT_RTPRIO, and, where cgroup v1 groups real-time time
    (CONFIG_RT_GROUP_SCHED), a cgroup with a share of it. The kernel's real-time throttle (95 %) stays in
    force.
    """
    _sharpen_timers()
    takes: tuple[Callable[[], str], ...] = (_round_robin, _nice)
    for take in takes[WANTED.index(wanted) :]:
        with suppress(OSError):
            return take()
    return "normal"


def _round_robin() -> str:
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    return "SCHED_RR 1"


def _nice() -> str:
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    # A session of its own is a group of its own (CONFIG_SCHED_AUTOGROUP): nice counts only inside it, and the
    # group has a nice value that counts outside (sched(7)).
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(NICE))
    return f"nice {NICE}"


def _sharpen_timers() -> None:
    # The kernel may delay a normal process' timers by 50 us to batch them.
    with suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1")
