"""Reading and writing the small files of a cgroup."""

from __future__ import annotations

import os
import re
from pathlib import Path

from chaoslat.errors import ChaoslatError

_KEYED = re.compile(r"^(\S+) (-?[0-9]+)$", re.MULTILINE)


def read(file: Path) -> str:
    """The content without its last newline. Raises ChaoslatError."""
    try:
        return file.read_text().rstrip("\n")
    except OSError as error:
        raise refused(file, error) from error


def read_if_there(file: Path, default: str = "") -> str:
    """The content, or `default` when the file does not exist (a top cgroup lacks some)."""
    return read(file) if file.exists() else default


def write(file: Path, content: str) -> None:
    """One write of the whole content, into a file that exists. Raises ChaoslatError."""
    try:
        fd = os.open(file, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, content.encode())
        finally:
            os.close(fd)
    except OSError as error:
        raise refused(file, error, f"{content!r} was to be written") from error


def keyed(text: str) -> dict[str, int]:
    """`key value` lines, as cpu.stat, memory.stat and memory.events have them; other lines count for nothing."""
    return {key: int(value) for key, value in _KEYED.findall(text)}


def integers(text: str) -> tuple[int, ...]:
    """One integer per line, as cgroup.procs has them."""
    return tuple(int(line) for line in text.split())


def make_directory(directory: Path) -> None:
    """Make a cgroup and its parents. Raises ChaoslatError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(directory, error) from error


def remove_directory(directory: Path) -> None:
    """Remove a cgroup and all below it, deepest first. Already gone is fine. Raises ChaoslatError."""
    for folder, _, _ in os.walk(directory, topdown=False):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise refused(Path(folder), error, "a process may still be inside") from error


def refused(where: Path, error: OSError, detail: str = "") -> ChaoslatError:
    """What the kernel's refusal is to a user."""
    why = error.strerror or str(error)
    return ChaoslatError(
        "The kernel refused an access to a cgroup",
        where=str(where),
        why=f"{why}; {detail}" if detail else why,
        fix="run as root: `sudo -E chaoslat doctor` says what is missing"
        if isinstance(error, PermissionError)
        else "",
    )
