"""Burns one core in turns: `burner.py NICE ON_S OFF_S`. Starts when it reads a line, ends without one."""

from __future__ import annotations

import os
import sys
import time


def burn(nice: int, on_s: float, off_s: float) -> None:
    """Never returns."""
    os.nice(nice)
    print("ready", flush=True)
    while True:
        until_s = time.monotonic() + on_s
        while time.monotonic() < until_s:
            sum(range(2_000))
        time.sleep(off_s)


if __name__ == "__main__" and sys.stdin.readline():
    burn(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))
