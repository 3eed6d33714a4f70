"""The demo application's packages, installed in place in `fixtures/node-app/node_modules`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from chaoslat import paths
from chaoslat.errors import ChaoslatError, EnvironmentMissing
from chaoslat.parts.base import Found, Missing, Progress, install_command, need
from chaoslat.parts.node import Node, NodeRuntime
from chaoslat.parts.run import run
from chaoslat.parts.store import key, locked

_STAMP = ".chaoslat-stamp"
_FLAGS = ("--no-audit", "--no-fund", "--loglevel=error")


@dataclass(frozen=True, slots=True)
class NodeApp:
    """Finds the packages that the lock file names, or fetches them with `npm ci`."""

    cache: Path
    name: str = "node-app"

    def find(self) -> Found | Missing:
        """Packages that were installed from the lock file as it is now; `path` is the app's folder."""
        try:
            folder, wanted = _folder(), _wanted()
        except (ChaoslatError, FileNotFoundError) as error:
            return Missing(self.name, str(error), "run in a checkout of the repository")
        stamp = folder / "node_modules" / _STAMP
        if not stamp.exists():
            return Missing(self.name, "its packages are not installed", install_command(self.name))
        if stamp.read_text() != wanted:
            return Missing(
                self.name, "package-lock.json changed since the last install", install_command(self.name)
            )
        return Found(self.name, folder, wanted)

    def install(self, progress: Progress) -> Found:
        """`npm ci`, with Node.js installed first if need be. Raises EnvironmentMissing with npm's words.

        npm empties node_modules first and the stamp is written last: a killed install is missing.
        """
        Node(self.cache).install(progress)
        if isinstance(self.find(), Missing):
            with locked(self.cache / f".node-app-{key(str(_folder()))}.lock", progress):
                if isinstance(self.find(), Missing):
                    _npm_ci(Node(self.cache).runtime(), progress)
        return need(self.find())


def _npm_ci(runtime: NodeRuntime, progress: Progress) -> None:
    progress("npm ci")
    env = {"PATH": f"{runtime.node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    wanted = _wanted()
    run([*runtime.npm, "ci", *_FLAGS], cwd=_folder(), env=env)
    (_folder() / "node_modules").mkdir(exist_ok=True)
    (_folder() / "node_modules" / _STAMP).write_text(wanted)


def _folder() -> Path:
    return paths.fixtures() / "node-app"


def _wanted() -> str:
    lock = _folder() / "package-lock.json"
    if not lock.exists():
        raise EnvironmentMissing("The demo application has no lock file", where=str(lock))
    return key(lock.read_bytes())
