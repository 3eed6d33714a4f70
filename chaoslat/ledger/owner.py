"""Who owns a run: a process, told from a later one of the same number; or, once kept, a time until which it stays."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from chaoslat.ledger.state import run_folder


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that a run belongs to. `expires_boot_s` is CLOCK_BOOTTIME, which no change of the date moves."""

    pid: int
    start_ticks: int
    boot_id: str
    since: str
    kept: bool = False
    expires_boot_s: float | None = None

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(pid, start_ticks(pid) or 0, boot_id(), datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def alive(self) -> bool:
        """The very process still runs (a zombie does not)."""
        return self.boot_id == boot_id() and start_ticks(self.pid) == self.start_ticks

    @property
    def expired(self) -> bool:
        """The time that a kept run was given is over."""
        return self.boot_id != boot_id() or (
            self.expires_boot_s is not None and boot_s() >= self.expires_boot_s
        )

    @property
    def holds(self) -> bool:
        """The run is still wanted: its process lives, or it is kept and its time is not over."""
        return not self.expired if self.kept else self.alive

    def describe(self) -> str:
        if not self.kept:
            return f"process {self.pid}, since {self.since}"
        if self.expires_boot_s is None:
            return f"kept since {self.since}"
        return (
            f"kept since {self.since}, for {max(0.0, self.expires_boot_s - boot_s()) / 60:.0f} more minutes"
        )


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (field 22 of /proc/PID/stat); None when it runs no more."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def boot_id() -> str:
    """The id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def boot_s() -> float:
    """Seconds since boot, sleep included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def write_owner(folder: Path, owner: Owner) -> None:
    """Write a run's owner.json, whole or not at all."""
    fresh = folder / f"owner.json.{os.getpid()}"
    fresh.write_text(json.dumps(asdict(owner)) + "\n")
    fresh.replace(folder / "owner.json")


def read_owner(folder: Path) -> Owner | None:
    """The owner of a run; None when the file is missing or not ours."""
    try:
        return Owner(**json.loads((folder / "owner.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def keep(run_id: str, lease_s: float | None) -> Owner:
    """Let a run outlive its process: it stays for `lease_s` from now (None: until it is taken down).

    The reaper, if there is one, goes on watching and undoes the run when the time is over.
    """
    folder = run_folder(run_id)
    owner = replace(
        read_owner(folder) or Owner.here(),
        kept=True,
        expires_boot_s=None if lease_s is None else boot_s() + lease_s,
    )
    write_owner(folder, owner)
    return owner
