"""What this machine can do, what is missing, and the command that helps. Changes nothing that lasts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from chaoslat import kernel_tries
from chaoslat.capabilities import cgroup_version

Progress = Callable[[str], None]
NOISE_S = 1.0
TICK_S = 0.002
MAX_LAG_MS = 2.0  # the load generator voids a window whose lag p99 is over this
_CAPABILITY_BITS = {"CAP_CHOWN": 0, "CAP_KILL": 5, "CAP_SETUID": 7, "CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
NEEDED_CONTROLLERS = ("cpu", "memory")
_TUN = "/dev/net/tun"
_AS_ROOT = "run it as root: sudo chaoslat ..."


class Status(StrEnum):
    """`warn`: it works, with less; `missing`: the local backend cannot run."""

    OK = "ok"
    WARN = "warn"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, and the command that mends it."""

    name: str
    status: Status
    found: str
    fix: str = ""


def examine(progress: Progress) -> Iterator[Check]:
    """All checks, in the order in which they are worth reading."""
    for name, check in CHECKS.items():
        progress(f"looking at {name}")
        yield from check()


def verdict(checks: list[Check]) -> str:
    """One sentence over all."""
    missing = [check.name for check in checks if check.status is Status.MISSING]
    if missing:
        return f"the local backend cannot run here: {', '.join(missing)} missing"
    warned = [check.name for check in checks if check.status is Status.WARN]
    return "the local backend can run here" + (f"; mind {', '.join(warned)}" if warned else "")


def privileges() -> Iterator[Check]:
    """Root, and the capabilities that a container may have taken from it."""
    if os.geteuid() != 0:
        yield Check("privileges", Status.MISSING, f"user {os.geteuid()}, not root", _AS_ROOT)
        return
    lacking = _lacking_capabilities(Path("/proc/self/status").read_text())
    if lacking:
        yield Check(
            "privileges", Status.MISSING, f"root without {', '.join(lacking)}", "run it outside the container"
        )
        return
    yield Check("privileges", Status.OK, "root, with the capabilities that matter")


def _lacking_capabilities(status: str) -> list[str]:
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "CapEff: 0")
    effective = int(line.split()[1], 16)
    return [name for name, bit in _CAPABILITY_BITS.items() if not effective >> bit & 1]


def control_groups() -> Iterator[Check]:
    """Which version, which controllers, and whether they can be written."""
    version = cgroup_version()
    if version == 0:
        yield Check(
            "control groups", Status.MISSING, "none is mounted", "mount -t cgroup2 none /sys/fs/cgroup"
        )
        return
    roots = _controller_roots(version)
    lacking = [name for name in NEEDED_CONTROLLERS if name not in roots]
    needed = [roots[name] for name in NEEDED_CONTROLLERS if name in roots]
    locked = [str(root) for root in needed if not os.access(root, os.W_OK)]
    if lacking:
        yield Check(
            "control groups", Status.MISSING, f"v{version} without {', '.join(lacking)}", "see cgroups(7)"
        )
    elif locked:
        yield Check(
            "control groups", Status.MISSING, f"v{version}, not writable: {', '.join(locked)}", _AS_ROOT
        )
    else:
        yield Check("control groups", Status.OK, f"v{version} with cpu and memory")


def _controller_roots(version: int) -> dict[str, Path]:
    """Controller -> the directory that it is mounted at."""
    roots: dict[str, Path] = {}
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, kind, options, *_ = line.split(" ")
        if version == 1 and kind == "cgroup":
            roots |= dict.fromkeys(options.split(","), Path(point))
        elif version == 2 and kind == "cgroup2":
            offered = (Path(point) / "cgroup.controllers").read_text().split()
            roots |= dict.fromkeys(offered, Path(point))
    return roots


def network() -> Iterator[Check]:
    """Namespaces for the database's network, and what true delay on the network layer would need."""
    yield _tried("network namespaces", kernel_tries.network_namespace(), Status.MISSING, _AS_ROOT)
    tun = os.access(_TUN, os.R_OK | os.W_OK)
    state = "can be opened" if tun else "cannot be opened; a delay below TCP needs it or netem"
    fix = "" if tun else (_AS_ROOT if os.path.exists(_TUN) else "modprobe tun")
    yield Check("tun", Status.OK if tun else Status.WARN, f"{_TUN} {state}", fix)
    yield _tried(
        "sch_netem", kernel_tries.netem(), Status.WARN, "modprobe sch_netem (needs the kernel's module)"
    )


def storage() -> Iterator[Check]:
    """A tmpfs for pod volumes, and a disk for the database (whose page cache matters)."""
    yield _tried("tmpfs", kernel_tries.tmpfs(), Status.MISSING, _AS_ROOT)
    from chaoslat.backends.local import folder

    refused = {base: folder.refusal(base, folder.NEEDED_BYTES) for base in folder.CANDIDATES}
    fit = next((base for base, why in refused.items() if not why), None)
    if fit is None:
        why = "; ".join(f"{base}: {reason}" for base, reason in refused.items())
        needed = f"free {folder.NEEDED_BYTES // 1024**2} MB on the disk of /var/tmp"
        yield Check("disk", Status.MISSING, why, needed)
    else:
        yield Check("disk", Status.OK, f"{fit} ({folder.file_system(fit)})")


def cpu() -> Iterator[Check]:
    """Cores, and how late a timer fires when this process asks for nothing else."""
    cores = len(os.sched_getaffinity(0))
    status = Status.OK if cores >= 2 else Status.WARN
    yield Check(
        "cores", status, str(cores), "" if cores >= 2 else "two or more: the load generator needs its own"
    )
    lags_ms = sorted(timer_lags_ms())
    p50_ms, p99_ms = lags_ms[len(lags_ms) // 2], lags_ms[int(len(lags_ms) * 0.99)]
    quiet = p99_ms <= MAX_LAG_MS
    found = f"timer lag p50 {p50_ms:.2f}, p99 {p99_ms:.2f}, max {lags_ms[-1]:.2f} ms in {NOISE_S:.0f} s"
    fix = "" if quiet else "stop other work on this machine; latencies are void while it lasts"
    yield Check("noise", Status.OK if quiet else Status.WARN, found, fix)


def timer_lags_ms(duration_s: float = NOISE_S) -> list[float]:
    """How late each of many short sleeps ended."""
    end_s = time.perf_counter() + duration_s
    lags: list[float] = []
    while (start_s := time.perf_counter()) < end_s:
        time.sleep(TICK_S)
        lags.append((time.perf_counter() - start_s - TICK_S) * 1000)
    return lags


def parts() -> Iterator[Check]:
    """The real parts of a local system: database, proxy, application and tools."""
    from chaoslat.parts import check_all
    from chaoslat.parts.base import Missing

    for answer in check_all():
        if isinstance(answer, Missing):
            yield Check(answer.name, Status.MISSING, answer.why, answer.fix)
        else:
            yield Check(answer.name, Status.OK, f"{answer.version} ({answer.path})")


def cluster() -> Iterator[Check]:
    """What the kind backend needs beyond that: the programs of a container engine, and the images of a cluster."""
    from chaoslat import nodeimage
    from chaoslat.engine.packages import missing
    from chaoslat.engine.run import INSTALL

    absent = ", ".join(missing())
    status = Status.WARN if absent else Status.OK
    yield Check("container engine", status, f"not installed: {absent}" if absent else "installed", INSTALL)
    store = nodeimage.store()
    unbuilt = [name for name, one in nodeimage.catalogue().items() if not one.ready(store)]
    status = Status.WARN if unbuilt else Status.OK
    found = f"not built: {', '.join(unbuilt)}" if unbuilt else f"built ({store})"
    yield Check("cluster images", status, f"{found}; backend kind", "make node-image")


def leftovers() -> Iterator[Check]:
    """Runs that are going on, are kept, or have died without an undo."""
    from chaoslat.ledger.leftovers import leftovers as strays
    from chaoslat.runs import known_runs

    runs, lost = known_runs(), strays()
    if not runs and not lost:
        yield Check("leftovers", Status.OK, "none")
    for stray in lost:
        fix = "chaoslat heal" if stray.ours else "not known to be ours: look at it"
        yield Check("leftover", Status.WARN, f"{stray.what} {stray.name}", fix)
    for run in runs:
        status = Status.OK if run.wanted else Status.WARN
        fix = f"chaoslat down {run.run_id}" if run.wanted else "chaoslat heal"
        yield Check(f"run {run.run_id}", status, run.owner, fix)


def _tried(name: str, complaint: str, otherwise: Status, fix: str) -> Check:
    if complaint:
        return Check(name, otherwise, complaint, fix)
    return Check(name, Status.OK, "tried, works")


CHECKS: dict[str, Callable[[], Iterator[Check]]] = {
    "privileges": privileges,
    "control groups": control_groups,
    "network": network,
    "storage": storage,
    "CPU": cpu,
    "parts": parts,
    "cluster": cluster,
    "leftovers": leftovers,
}
