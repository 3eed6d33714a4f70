"""Root file systems from Debian's packages, whose signatures mmdebstrap has apt check."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from chaoslat.errors import EnvironmentMissing
from chaoslat.nodeimage import debian, versions
from chaoslat.nodeimage.artefact import Artefact, Made
from chaoslat.nodeimage.inputs import folder, packages, tree_key
from chaoslat.parts.base import Progress
from chaoslat.parts.run import run
from chaoslat.parts.store import key

ARCHIVE = "rootfs.tar.zst"
_RECIPE = "2"
_FIX = "python -m chaoslat.engine install"
_DEADLINE_S = 1800.0
_NOT_WANTED = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/doc/*")
_WANTED = ("/usr/share/doc/*/copyright",)
_LEFT_OVER = (  # what tells of this machine, and what a package manager would need
    "/etc/resolv.conf",
    "/etc/hostname",
    "/etc/apt/sources.list",
    "/var/lib/apt/lists",
    "/var/cache/apt",
    "/var/cache/ldconfig",
)


@dataclass(frozen=True, slots=True)
class RootFs:
    """`variant` is mmdebstrap's: `minbase` is a small Debian, `extract` only the unpacked packages, no scripts run."""

    name: str
    suite: str
    variant: str

    def artefact(self) -> Artefact:
        """The folder holds `rootfs.tar.zst`. Takes root.

        Debian's versions are not in the key: a suite of a release changes only to mend something.
        """
        listed = tree_key(folder("packages", f"{self.name}.txt"))
        inputs = key(_RECIPE, versions.architecture(), self.suite, self.variant, listed)
        return Artefact(f"rootfs-{self.name}", inputs, self._build)

    def _build(self, into: Path, _: Made, progress: Progress) -> None:
        if os.geteuid() != 0:
            raise EnvironmentMissing("Root file systems are built as root", fix="run it with sudo")
        sources = debian.lines(self.suite)
        progress(f"{len(packages(self.name))} packages of {self.suite}, with what they depend on")
        run(self.command(into / "rootfs.tar", sources), fix=_FIX, timeout_s=_DEADLINE_S)
        run(["zstd", "-q", "-3", "-T0", "--rm", into / "rootfs.tar", "-o", into / ARCHIVE], fix=_FIX)

    def command(self, tar: Path, sources: list[str]) -> list[str]:
        """What is run to write the file system to `tar`."""
        rules = [f"path-exclude={path}" for path in _NOT_WANTED] + [
            f"path-include={path}" for path in _WANTED
        ]
        return [
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            f"--variant={self.variant}",
            f"--include={','.join(packages(self.name))}",
            "--aptopt=APT::Install-Recommends false",
            "--aptopt=Acquire::Check-Valid-Until false",  # a mirror may be frozen; signatures are checked all the same
            *(f"--dpkgopt={rule}" for rule in rules),
            "--customize-hook=rm -rf " + " ".join(f'"$1"{path}' for path in _LEFT_OVER),
            self.suite,
            str(tar),
            *sources,
        ]


NODE = RootFs("node", "bookworm", "minbase")
KUBE = RootFs("kube", "bookworm", "extract")
APP = RootFs("app", "trixie", "extract")
TOOLS = RootFs("tools", "bookworm", "extract")
MYSQL = RootFs("mysql", "bookworm", "extract")


def unpack(rootfs: Path, into: Path) -> None:
    """Unpack the artefact `rootfs` into the new folder `into`, with its owners."""
    into.mkdir()
    run(["tar", "--zstd", "--numeric-owner", "-xpf", rootfs / ARCHIVE, "-C", into], fix=_FIX)
