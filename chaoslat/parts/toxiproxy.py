"""The proxy between app and database: the real Toxiproxy server, built from its Go module."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import ChaoslatError
from chaoslat.parts.base import Found, Missing, Progress, install_command, need
from chaoslat.parts.go_toolchain import go_for_build
from chaoslat.parts.run import run
from chaoslat.parts.store import build_once, key

VERSION = "2.12.0"  # pinned: the module's own "latest" is an old release
OLDEST = (2, 5)
_RECIPE = "1"
_MODULE = "github.com/Shopify/toxiproxy/v2"
_NUMBER = re.compile(r"(\d+)\.(\d+)\.\d+")


@dataclass(frozen=True, slots=True)
class Toxiproxy:
    """Finds the server on PATH or in the cache, or builds it there."""

    cache: Path
    name: str = "toxiproxy"

    def find(self) -> Found | Missing:
        """A server of version 2.5 or newer."""
        on_path = shutil.which("toxiproxy-server")
        for program in filter(None, (Path(on_path) if on_path else None, self._program())):
            version = _version(program) if program.exists() else None
            if version is not None:
                return Found(self.name, program, version)
        return Missing(self.name, "no toxiproxy-server on PATH or in the cache", install_command(self.name))

    def install(self, progress: Progress) -> Found:
        """Build the pinned version. Raises EnvironmentMissing when there is no Go or the build fails."""
        if isinstance(self.find(), Missing):
            build_once(self._program().parent, lambda into: _build(into, progress), progress)
        return need(self.find())

    def _program(self) -> Path:
        return self.cache / f"toxiproxy-{VERSION}-{key(_RECIPE, _MODULE)}" / "toxiproxy-server"


def _build(into: Path, progress: Progress) -> None:
    scratch = into / "scratch"
    scratch.mkdir()
    go = go_for_build(scratch, progress)
    progress(f"building Toxiproxy {VERSION} with {go.program}")
    ldflags = f"-s -w -X {_MODULE}.Version={VERSION}"
    go.install(f"{_MODULE}/cmd/server@v{VERSION}", scratch, scratch=scratch, ldflags=ldflags)
    (scratch / "server").rename(into / "toxiproxy-server")
    shutil.rmtree(scratch)


def _version(program: Path) -> str | None:
    try:
        match = _NUMBER.search(run([program, "--version"], timeout_s=20.0))
    except ChaoslatError:
        return None
    return match[0] if match and (int(match[1]), int(match[2])) >= OLDEST else None
