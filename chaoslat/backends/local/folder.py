"""The run's folder: on a real disk with enough room; the database's page cache matters."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from chaoslat.backends.local.layout import Layout
from chaoslat.errors import EnvironmentMissing
from chaoslat.ledger import scoped
from chaoslat.ledger.marks import mark_tree
from chaoslat.parts.mysql_server import run_as_ids

CANDIDATES = (Path("/var/tmp"), Path("/var/lib"), Path("/tmp"))
IN_MEMORY = frozenset({"tmpfs", "ramfs"})
NEEDED_BYTES = 700 * 1024**2  # the seed's copy, a redo log, logs
VOLUMES_BYTES = 256 * 1024**2


def choose(run_id: str, candidates: Sequence[Path] = CANDIDATES, needed_bytes: int = NEEDED_BYTES) -> Path:
    """Where the folder of this run will be. Raises EnvironmentMissing that says what is wrong with each."""
    refused = {base: why for base in candidates if (why := refusal(base, needed_bytes))}
    fit = [base for base in candidates if base not in refused]
    if fit:
        return fit[0] / scoped(run_id)
    raise EnvironmentMissing(
        "No place for the database's files",
        where=", ".join(map(str, candidates)),
        why="; ".join(f"{base}: {why}" for base, why in refused.items()),
        fix=f"free {needed_bytes // 1024**2} MB on the disk that holds /var/tmp",
    )


def refusal(base: Path, needed_bytes: int) -> str:
    """Why a run's folder cannot be below `base`; "" when it can."""
    if not base.is_dir() or not os.access(base, os.W_OK):
        return "not a folder that can be written"
    kind = file_system(base)
    if kind in IN_MEMORY:
        return f"{kind} is memory, not a disk"
    free_bytes = shutil.disk_usage(base).free
    return "" if free_bytes >= needed_bytes else f"{free_bytes // 1024**2} MB free"


def file_system(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system that holds `path`."""
    where = str(path.resolve())
    inside: list[tuple[int, str]] = []
    for line in mounts.read_text().splitlines():
        _, point, kind, *_ = line.split(" ")
        point = point.replace("\\040", " ")
        if where == point or where.startswith(point.rstrip("/") + "/"):
            inside.append((len(point), kind))
    # The longest mount point is the nearest, and of several mounts on one point the last one shows.
    longest = max(length for length, _ in inside)
    return [kind for length, kind in inside if length == longest][-1]


def make(layout: Layout) -> None:
    """Make the run's folder, the database's, which only the server's user can enter, and the volumes' mount."""
    layout.folder.mkdir(mode=0o711)
    mark_tree(layout.folder, layout.run_id)
    layout.db_folder.mkdir(mode=0o700)
    os.chown(layout.db_folder, *run_as_ids())
    mount_volumes(layout.volumes, layout.folder.name)
    (layout.volumes / layout.db.rpartition("/")[2]).mkdir()  # the database's pod has one too, and it is alive


def mount_volumes(point: Path, source: str) -> None:
    """Mount the tmpfs of the pods' memory-backed volumes at `point`."""
    point.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", f"size={VOLUMES_BYTES},mode=0755", source, str(point)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise EnvironmentMissing(
            "A tmpfs cannot be mounted", where=str(point), why=done.stderr.strip(), fix="run as root (sudo)"
        )
