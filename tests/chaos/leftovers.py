"""What a run could leave on a machine, looked for by its id. For real tests."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

CLI = (sys.executable, "-m", "chaoslat")
PLACES = ("/run/chaoslat/{}", "/var/tmp/chaoslat-{}", "/run/netns/chaoslat-{}", "/sys/class/net/cl{}h")


def traces(run_id):
    """All that still carries the run's id: processes, cgroups, mounts, folders, namespaces, interfaces."""
    found = [place.format(run_id) for place in PLACES if Path(place.format(run_id)).exists()]
    found += cgroups(run_id)
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if run_id in line]
    return found + [f"process {pid}" for pid in processes(run_id)]


def cgroups(run_id):
    """Folders of the run in the cgroup file systems. Others may come and go meanwhile, which `os.walk` passes over."""
    walk = os.walk("/sys/fs/cgroup")
    return [f"{path}/{name}" for path, names, _ in walk for name in names if name == f"chaoslat-{run_id}"]


def processes(run_id):
    """Processes in a cgroup of the run, or with its id in their command line."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            known = (path / "cgroup").read_text() + (path / "cmdline").read_bytes().decode(errors="replace")
            if run_id in known:
                yield int(path.name)


def gone_within(run_id, bound_s):
    """What is left of the run after at most that long."""
    deadline_s = time.monotonic() + bound_s
    while (left := traces(run_id)) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    return left


def cli(*args, timeout_s=60):
    """A command that has ended: exit code and its JSON."""
    done = subprocess.run(
        [*CLI, *args, "--json"], capture_output=True, text=True, timeout=timeout_s, check=False
    )
    return done.returncode, json.loads(done.stdout)
