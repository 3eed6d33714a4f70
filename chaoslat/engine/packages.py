"""The distribution's packages that clusters and their images take: found by their programs, installed by apt.

What comes with them is not put to use for anybody else: no service is started, now or at the next boot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.base import Progress
from chaoslat.parts.iproute2 import tool
from chaoslat.parts.run import run

PACKAGE_OF: Mapping[str, str] = {
    "dockerd": "docker.io",
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "nft": "nftables",
    "ip": "iproute2",
    "mmdebstrap": "mmdebstrap",
    "zstd": "zstd",
    "setsid": "util-linux",
}
CLIENT = ("docker", "docker-cli")
"""The client comes with the engine, or in a package of its own where a release has split it off."""
POLICY = Path("/usr/sbin/policy-rc.d")
_DENY = "#!/bin/sh\n# chaoslat: no service is started by what is being installed\nexit 101\n"
_SERVICES = ("docker.service", "docker.socket", "containerd.service")
_APT = ("apt-get", "-q", "-y", "--no-install-recommends", "install")
_ENV = {"DEBIAN_FRONTEND": "noninteractive"}


def missing() -> dict[str, str]:
    """The programs that are not here, and the package of each."""
    wanted = {**PACKAGE_OF, CLIENT[0]: CLIENT[1]}
    return {program: package for program, package in wanted.items() if tool(program) is None}


def install(progress: Progress) -> None:
    """Install what is missing. Raises EnvironmentMissing without root, and when apt fails."""
    absent = missing()
    if not absent:
        return
    if os.geteuid() != 0:
        fix = f"sudo apt-get install {' '.join(dict.fromkeys(absent.values()))}"
        raise EnvironmentMissing(f"Not installed: {', '.join(absent)}", fix=fix)
    with services_kept_stopped():
        _apt([PACKAGE_OF[program] for program in absent if program in PACKAGE_OF], progress)
        if tool(CLIENT[0]) is None:
            _apt([CLIENT[1]], progress)
    if "dockerd" in absent and tool("systemctl"):
        run(["systemctl", "--quiet", "disable", *_SERVICES])


@contextmanager
def services_kept_stopped(policy: Path = POLICY) -> Iterator[None]:
    """While the block runs, packages that are installed start no service; see invoke-rc.d(8)."""
    if policy.exists():
        yield
        return
    policy.write_text(_DENY)
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def _apt(names: list[str], progress: Progress) -> None:
    if not names:
        return
    progress(f"apt-get install {' '.join(names)}")
    try:
        run([*_APT, *names], env=_ENV)
    except EnvironmentMissing:  # the index may be missing or stale
        run(["apt-get", "-q", "update"], env=_ENV)
        run([*_APT, *names], env=_ENV)
