"""The work-around for machines where root lacks CAP_SYS_RESOURCE, as in some virtual machines and containers.

A privileged container asks for every capability, and runc fails for one that it cannot give. There, and only there,
the engine starts containers through a script that takes this one out of what is asked for.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

CAP_SYS_RESOURCE = 24
NAME = "without-sys-resource"
_BOUNDING = re.compile(r"^CapBnd:\s*([0-9a-f]+)$", re.MULTILINE)


def needed(status: str | None = None) -> bool:
    """Whether the bounding set of `status`, by default this process's /proc/PID/status, lacks the capability."""
    match = _BOUNDING.search(Path("/proc/self/status").read_text() if status is None else status)
    return match is not None and not int(match[1], 16) >> CAP_SYS_RESOURCE & 1


def write_script(folder: Path, runc: str) -> Path:
    """Write the script into `folder`, to be used as a runtime in place of `runc`."""
    shim = Path(__file__).with_name("runc_shim.py")
    words = [sys.executable, "-I", "-S", str(shim), runc]
    script = folder / NAME
    script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    script.chmod(0o755)
    return script
