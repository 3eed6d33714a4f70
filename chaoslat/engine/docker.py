"""Talking to a container engine through its own command-line client."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoslat.engine.run import run_tool
from chaoslat.errors import ChaoslatError

DEFAULT_HOST = "unix:///var/run/docker.sock"
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy")
LOOK_S = 5.0
_NO_CONFIG = "/nonexistent"  # not below /tmp, where somebody else could make it


@dataclass(frozen=True, slots=True)
class Docker:
    """An engine at `host`, a unix socket: only such a one is on this machine for certain."""

    host: str

    def run(self, *args: str | Path, stdin: str = "", timeout_s: float = 60.0) -> str:
        """What the client printed. Raises EnvironmentMissing when it fails or takes longer."""
        return run_tool("docker", *args, stdin=stdin, env=self.environment(), timeout_s=timeout_s)

    def environment(self) -> Mapping[str, str]:
        """For programs that call the client: this engine, and none of the user's settings, credentials or proxies."""
        return {"DOCKER_HOST": self.host, "DOCKER_CONTEXT": "", "DOCKER_CONFIG": _NO_CONFIG}

    def whole_environment(self) -> dict[str, str]:
        """That of this process with `environment` over it, and without its proxies."""
        kept = {name: value for name, value in os.environ.items() if name.lower() not in PROXIES}
        return {**kept, **self.environment()}

    def inspect(self, *what: str) -> Any:
        """The one object that `docker inspect` or `docker network inspect` prints. Raises EnvironmentMissing."""
        return json.loads(self.run(*what))[0]

    def version(self) -> str:
        """The engine's version. Raises EnvironmentMissing when it does not answer."""
        return self.run("version", "--format", "{{.Server.Version}}", timeout_s=LOOK_S).strip()


def reachable() -> Docker | None:
    """The engine that $DOCKER_HOST names, or the machine's own; None when there is none on this machine.

    An engine elsewhere does not count: its network could not be fenced from here.
    """
    docker = Docker(os.environ.get("DOCKER_HOST") or DEFAULT_HOST)
    if not docker.host.startswith("unix://"):
        return None
    try:
        docker.version()
    except ChaoslatError:
        return None
    return docker
