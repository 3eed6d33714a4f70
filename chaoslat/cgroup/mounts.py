"""Where the cgroup hierarchies are mounted, read from /proc/self/mountinfo (proc(5))."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = frozenset({"cpu", "cpuacct", "memory", "pids", "cpuset", "io", "blkio", "devices", "freezer"})


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup hierarchy. `top` is the cgroup that shows at the mount point: "/" unless in a container."""

    version: int
    directory: Path
    top: str
    controllers: frozenset[str]

    def at(self, path: str) -> Path:
        """The directory of a path below the mount point."""
        return self.directory / path.strip("/")

    def relative(self, cgroup: str) -> str:
        """A path as /proc/PID/cgroup has it, seen from the mount point: "/" for the top and all outside of it."""
        top = self.top.rstrip("/")
        inside = cgroup == top or cgroup.startswith(top + "/")
        return cgroup[len(top) :].strip("/") or "/" if inside else "/"


def parse_mountinfo(text: str, root: Path) -> tuple[Hierarchy, ...]:
    """All cgroup mounts, in order. `root` is put before their mount points. A line that is none is passed over."""
    parsed = (_parse_line(line, root) for line in text.splitlines())
    return tuple(hierarchy for hierarchy in parsed if hierarchy)


def _parse_line(line: str, root: Path) -> Hierarchy | None:
    before, separator, after = line.partition(" - ")
    front, back = before.split(), after.split()
    if not separator or len(front) < 5 or len(back) < 3 or back[0] not in ("cgroup", "cgroup2"):
        return None
    directory = root / _unescape(front[4]).lstrip("/")
    options = frozenset(back[2].split(","))
    if back[0] == "cgroup2":
        return Hierarchy(2, directory, _unescape(front[3]), _unified_controllers(directory))
    return Hierarchy(1, directory, _unescape(front[3]), options & CONTROLLERS)


def _unified_controllers(directory: Path) -> frozenset[str]:
    try:
        return frozenset((directory / "cgroup.controllers").read_text().split())
    except OSError:
        return frozenset()


def _unescape(field: str) -> str:
    """mountinfo writes space, tab, newline and backslash as octal escapes."""
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field


def parse_proc_cgroup(text: str) -> dict[str, str]:
    """/proc/PID/cgroup: the path by controller; the unified hierarchy is under "" (cgroups(7))."""
    paths: dict[str, str] = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number.isdigit() and path:
            paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def with_controller(hierarchies: Iterable[Hierarchy], version: int, controller: str) -> Hierarchy | None:
    """The hierarchy of this version that has the controller."""
    matching = (one for one in hierarchies if one.version == version and controller in one.controllers)
    return next(matching, None)
