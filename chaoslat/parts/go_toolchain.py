"""A Go that can build the proxy: the machine's own, else the distribution's, unpacked for one build."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.parts.apt_sources import machine_sources
from chaoslat.parts.apt_tree import AptTree
from chaoslat.parts.base import Progress
from chaoslat.parts.distribution import newest_sources, read_os_release
from chaoslat.parts.run import run

OLDEST = (1, 21)  # the first that fetches the newer toolchain that a module asks for
_VERSION = re.compile(r"go version go(\d+)\.(\d+)")
_FIX = "install Go 1.21 or newer so that `go` is on PATH"
_PACKAGES = ("golang-go", "golang-1.24-go", "golang-1.23-go", "golang-1.22-go", "golang-1.21-go")


@dataclass(frozen=True, slots=True)
class Go:
    """`program` is the go command."""

    program: Path

    def install(self, package: str, into: Path, *, scratch: Path, ldflags: str) -> None:
        """Build the command `package@version` into the folder `into`; modules and caches go to `scratch`.

        Where the module asks for a newer Go than this one, this one fetches it. Raises EnvironmentMissing with
        the compiler's words.
        """
        env = {
            "GOBIN": str(into),
            "GOPATH": str(scratch / "gopath"),
            "GOCACHE": str(scratch / "gocache"),
            "GOFLAGS": "-modcacherw",  # so that the scratch folder can be deleted
            "GOTOOLCHAIN": "auto",
            "CGO_ENABLED": "0",
        }
        run([self.program, "install", "-trimpath", "-ldflags", ldflags, package], env=env, fix=_FIX)


def go_for_build(scratch: Path, progress: Progress) -> Go:
    """A usable Go, if need be in `scratch`. Raises EnvironmentMissing when there is none to be had."""
    return find_go() or _unpack(scratch, progress)


def find_go() -> Go | None:
    """The go on PATH if it is new enough."""
    program = shutil.which("go")
    if program is None:
        return None
    try:
        match = _VERSION.search(run([program, "version"], env={"GOTOOLCHAIN": "local"}, timeout_s=20.0))
    except ChaoslatError:
        return None
    return Go(Path(program)) if match and (int(match[1]), int(match[2])) >= OLDEST else None


def _unpack(scratch: Path, progress: Progress) -> Go:
    sources = newest_sources(read_os_release(), machine_sources())
    if not sources:
        raise EnvironmentMissing("There is no Go here", why="and no apt sources to fetch it from", fix=_FIX)
    progress("fetching Go from the distribution, for this build only")
    tree = AptTree(scratch / "apt", sources)
    tree.update()
    package = tree.first_of(_PACKAGES)
    if not package:
        raise EnvironmentMissing("There is no Go here", why="nor in the apt sources", fix=_FIX)
    tree.unpack(package, scratch / "root")
    programs = sorted((scratch / "root").glob("usr/lib/go-*/bin/go"))
    if not programs:
        raise EnvironmentMissing("The fetched Go package holds no go command", where=package, fix=_FIX)
    return Go(programs[-1])
