"""A cluster that is not chaoslat's: made with the kind program, with users in it who may do what the manifest says."""

import json
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ruamel.yaml import YAML

from chaoslat import nodeimage, paths
from chaoslat.backends.kube.login import find_kubectl
from chaoslat.engine import ground, images
from chaoslat.engine.kind import Kind
from chaoslat.kube import access, rbac
from chaoslat.ledger import Ledger, heal, new_run_id
from tests.chaos.leftovers import gone_within

CONFIG = """
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
networking: { apiServerAddress: 127.0.0.1 }
nodes: [{ role: control-plane }]
"""
WORKLOADS = ("app", "mysql", "toxiproxy", "tools")


@dataclass(frozen=True)
class Existing:
    """`admin`: the kubeconfig of who may do everything; `kubectl`: the program under its own name."""

    folder: Path
    admin: Path
    kubectl: Path

    def run(self, *argv, stdin="", kubeconfig=None):
        """What kubectl prints."""
        done = subprocess.run(
            [str(self.kubectl), f"--kubeconfig={kubeconfig or self.admin}", *argv],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lend(self, namespace):
        """A namespace with our label."""
        self.run("create", "namespace", namespace)
        self.run("label", "namespace", namespace, "chaoslat.run=allowed")

    def user(self, namespace, *modes):
        """The kubeconfig of a new user of the namespace who has the roles of these modes out of the manifest, alone."""
        self.run("apply", "-f", "-", stdin=_of_modes(namespace, modes))
        token = self.run("create", "token", rbac.NAME, f"--namespace={namespace}", "--duration=1h").strip()
        data = json.loads(self.run("config", "view", "--raw", "--minify", "-o", "json"))
        data["users"] = [{"name": "chaoslat", "user": {"token": token}}]
        data["contexts"][0] = {
            "name": "theirs",
            "context": {"cluster": data["clusters"][0]["name"], "user": "chaoslat"},
        }
        data["current-context"] = "theirs"
        path = self.folder / f"{namespace}.json"
        path.write_text(json.dumps(data))
        return path

    def spec(self, namespace, pod):
        """A pod's spec as it is now."""
        found = self.run("get", "pod", pod, f"--namespace={namespace}", "-o", "json")
        return json.loads(found)["spec"]


def _of_modes(namespace, modes):
    wanted = {rbac.NAME, *(f"{rbac.NAME}-{mode}" for mode in modes)}
    text = (paths.repo_root() / access.RBAC).read_text()
    objects = [one for one in YAML(typ="safe").load_all(text) if one["metadata"]["name"] in wanted]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).replace(
        '"namespace": "chaoslat"', f'"namespace": "{namespace}"'
    )


@contextmanager
def existing(folder):
    """Up while the block runs, on fenced ground; nothing of it is left."""
    run_id = new_run_id()
    ledger = Ledger.create(run_id)
    try:
        yield _made(ledger, folder)
    finally:
        report = heal.heal(run_id)
        assert not report.failed, report
        assert gone_within(run_id, 10) == []


def _made(ledger, folder):
    node = nodeimage.image("node")
    laid = ground.lay(ledger.run_id, ledger.promise, lambda line: None)
    laid.bring(*node, lambda line: None)
    config, kubeconfig, kubectl = folder / "kind.yaml", folder / "admin.kubeconfig", folder / "kubectl"
    config.write_text(CONFIG)
    kubectl.symlink_to(find_kubectl())
    kind = Kind(nodeimage.program("kind"), laid)
    kind.create(node[0], config, kubeconfig)
    for name in WORKLOADS:
        images.put_on_node(laid.docker, kind.nodes()[0], nodeimage.image(name)[1])
    return Existing(folder, kubeconfig, kubectl)
