"""A bounded attempt to empty a memory cgroup.

The kernel works inside the write and may spin there for more than a minute on pages that it cannot reclaim, so a
child process writes. A signal ends the kernel's loop.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

# A failing write is an answer, not an error: v2 says EAGAIN when it got less than was asked for.
_WRITE = 'echo "$2" >"$1" 2>/dev/null'


def write_bounded(file: Path, content: str, bound_s: float) -> bool:
    """Write into a kernel file from a child process. False: it was interrupted after `bound_s`."""
    writer = subprocess.Popen(
        ["/bin/sh", "-c", _WRITE, "chaoslat-reclaim", str(file), content],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        writer.wait(timeout=bound_s)
    except subprocess.TimeoutExpired:
        return False
    finally:
        writer.kill()
        writer.wait()
    return True
