"""Getting cached images, which are compressed, to where they are needed: into an engine, and onto a cluster's nodes."""

from __future__ import annotations

import contextlib
import subprocess
from pathlib import Path

from chaoslat.engine.docker import Docker
from chaoslat.engine.run import INSTALL, find
from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.base import Progress

LOAD_S = 300.0
_CONTAINERD = ("ctr", "--namespace", "k8s.io", "images")


def has(docker: Docker, reference: str) -> bool:
    """Whether the engine has an image of this name. Raises EnvironmentMissing when it does not answer."""
    return bool(docker.run("images", "--quiet", reference).strip())


def load(docker: Docker, reference: str, archive: Path, progress: Progress) -> None:
    """Have the engine load the compressed `archive`.

    Raises EnvironmentMissing when it refuses, or when the archive holds another image.
    """
    progress(f"loading {reference} into the engine")
    _pipe(archive, docker, "load", "--quiet")
    if not has(docker, reference):
        raise EnvironmentMissing("The archive holds another image", where=str(archive), why=f"no {reference}")


def drop_older(docker: Docker, reference: str) -> None:
    """Remove images of the same repository with another tag, unless a container uses them.

    Only for an engine of our own: what is on another one is not ours to remove.
    """
    repository = reference.rpartition(":")[0]
    names = docker.run("images", "--format", "{{.Repository}}:{{.Tag}}", repository).split()
    for name in names:
        if name != reference:
            with contextlib.suppress(EnvironmentMissing):
                docker.run("rmi", name)


def put_on_node(docker: Docker, node: str, archive: Path) -> None:
    """Have a node's containerd read the compressed `archive`; there already is fine. 1 to 2 s for 100 MB.

    Not unpacked: that is done when a pod first needs it. Raises EnvironmentMissing when the node refuses.
    """
    _pipe(archive, docker, "exec", "--interactive", node, *_CONTAINERD, "import", "--no-unpack", "-")


def on_node(docker: Docker, node: str) -> list[str]:
    """The names of the images that a node has. Raises EnvironmentMissing when it does not answer."""
    return docker.run("exec", node, *_CONTAINERD, "list", "--quiet").split()


def _pipe(archive: Path, docker: Docker, *args: str) -> None:
    """Unpack the archive into the standard input of a docker command."""
    try:
        with subprocess.Popen(
            [find("zstd"), "-dcq", "--long=27", archive], stdout=subprocess.PIPE
        ) as unpacker:
            done = subprocess.run(
                [find("docker"), *args],
                stdin=unpacker.stdout,
                capture_output=True,
                text=True,
                env=docker.whole_environment(),
                timeout=LOAD_S,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise EnvironmentMissing("An image was not loaded", where=str(archive), why=str(error)) from error
    if done.returncode or unpacker.returncode:
        why = done.stderr.strip() or f"zstd: exit code {unpacker.returncode}"
        raise EnvironmentMissing("An image was not loaded", where=str(archive), why=why, fix=INSTALL)
