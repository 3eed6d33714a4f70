"""The tools that make network namespaces and read sockets: ip, ss and nsenter."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.base import Found, Missing, Progress, need
from chaoslat.parts.run import run

_PACKAGE_OF = {"ip": "iproute2", "ss": "iproute2", "nsenter": "util-linux"}
_FOLDERS = ("/usr/sbin", "/sbin", "/usr/bin", "/bin")  # PATH of an ordinary user lacks the first two


def tool(name: str) -> str | None:
    """Path of a system tool, also where PATH does not look; None when it is missing."""
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(_FOLDERS))


@dataclass(frozen=True, slots=True)
class Iproute2:
    """Finds the tools, or installs them with the system's apt, which takes root."""

    cache: Path
    name: str = "iproute2"
    look: Callable[[str], str | None] = tool

    def find(self) -> Found | Missing:
        """All three tools; `path` is that of ip."""
        absent = [name for name in _PACKAGE_OF if self.look(name) is None]
        if absent:
            packages = " ".join(dict.fromkeys(_PACKAGE_OF[name] for name in absent))
            return Missing(
                self.name, f"not found: {', '.join(absent)}", _as_root(f"apt-get install {packages}")
            )
        ip = Path(self.look("ip") or "")
        return Found(self.name, ip, _version(run([ip, "-Version"], timeout_s=20.0)))

    def install(self, progress: Progress) -> Found:
        """With the system's apt. Raises EnvironmentMissing without root, and when apt does."""
        found = self.find()
        if isinstance(found, Missing):
            if os.geteuid() != 0:
                raise found.error()
            packages = list(dict.fromkeys(_PACKAGE_OF.values()))
            progress(f"apt-get install {' '.join(packages)}")
            _apt_install(packages)
        return need(self.find())


def _version(text: str) -> str:
    match = re.search(r"iproute2-([\w.]+)", text)
    return match[1] if match else "unknown version"


def _apt_install(packages: list[str]) -> None:
    command = ["apt-get", "-q", "-y", "--no-install-recommends", "install", *packages]
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run(command, env=env)
    except EnvironmentMissing:  # the index may be missing or stale
        run(["apt-get", "-q", "update"], env=env)
        run(command, env=env, fix=_as_root(" ".join(command[:1] + command[4:])))


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"needs apt: run `sudo make setup`, or `sudo {command}`"
