"""Which cluster is meant, and a kubeconfig of the run's own for it: the undo of another process needs it, whatever
the user's environment is by then."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from chaoslat import nodeimage
from chaoslat.errors import EnvironmentMissing
from chaoslat.kube.client import KubeClient
from chaoslat.ledger import JsonValue

NAME = "kubeconfig"
DEADLINE_S = 20.0


@dataclass(frozen=True, slots=True)
class Login:
    """A kubeconfig with one context in it, and the kubectl that undoes."""

    kubectl: Path
    kubeconfig: Path
    context: str

    def client(self, namespace: str) -> KubeClient:
        return KubeClient(self.kubeconfig, namespace, self.context)

    def undo(self, *argv: str) -> dict[str, JsonValue]:
        """The arguments of a promise of kind `kube`: this command, against a cluster that stays."""
        return {
            "kubectl": str(self.kubectl),
            "kubeconfig": str(self.kubeconfig),
            "argv": [f"--context={self.context}", *argv],
            "existing": True,
        }


def enter(folder: Path, context: str = "", kubeconfig: Path | None = None) -> Login:
    """Write the login into `folder`, readable by its owner only.

    `context`: empty for the current one; `kubeconfig`: None for the user's ($KUBECONFIG, else ~/.kube/config). Raises
    EnvironmentMissing without kubectl or such a context.
    """
    program = folder / "kubectl"  # ours may go by another name, and acts by its name
    program.unlink(missing_ok=True)
    program.symlink_to(find_kubectl())
    argv = ["config", "view", "--minify", "--flatten", "--raw"]
    argv += [f"--context={context}"] if context else []
    argv += [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
    text = _run(program, argv)
    path = folder / NAME
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    chosen = _run(program, ["config", "current-context", f"--kubeconfig={path}"]).strip()
    return Login(program, path, chosen)


def find_kubectl() -> Path:
    """The one on the PATH, else the one that comes with the node image. Raises EnvironmentMissing."""
    found = shutil.which("kubectl")
    if found:
        return Path(found)
    try:
        return nodeimage.program("kubeall")
    except EnvironmentMissing as error:
        raise EnvironmentMissing(
            "kubectl is not here",
            why="what is changed in a cluster is changed back with it, by another process if need be",
            fix="install kubectl, or: make node-image",
        ) from error


def _run(program: Path, argv: list[str]) -> str:
    done = subprocess.run(
        [str(program), *argv],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    if done.returncode:
        raise EnvironmentMissing(
            "There is no such cluster in the kubeconfig",
            why=done.stderr.strip(),
            fix="kubectl config get-contexts",
        )
    return done.stdout
