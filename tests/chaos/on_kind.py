"""For real tests on a kind cluster: when they run, and what the cluster's processes are on this machine."""

import os
from pathlib import Path

import pytest

from chaoslat import nodeimage
from chaoslat.backends.kind.state import NAMESPACE
from chaoslat.engine import ground, private
from chaoslat.engine.docker import reachable
from chaoslat.ledger import scoped
from tests.chaos.leftovers import processes

IMAGES = ("node", "app", "mysql", "toxiproxy", "tools")


def images_are_built():
    known, store = nodeimage.catalogue(), nodeimage.store()
    return all(known[name].ready(store) for name in IMAGES)


NEEDS_KIND = pytest.mark.skipif(
    os.environ.get("CHAOSLAT_KIND") != "1" or not images_are_built(),
    reason="makes clusters: run with CHAOSLAT_KIND=1 when the images are built (make kind-test)",
)


def process_of(run_id, program):
    """The one process of the run's nodes whose first argument is `program`."""
    (pid,) = (pid for pid in processes(run_id) if _program(pid) == program)
    return pid


def _program(pid):
    argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return Path(argv[0].decode()).name


def engine_of(run_id):
    """The engine that a run's nodes are on."""
    own = private.PrivateEngine(run_id, Path("/run") / scoped(run_id), ground.data_folder())
    return own.docker if own.folder.exists() else reachable()


def nodes_of(run_id):
    """The names of a run's nodes."""
    label = f"label={ground.CLUSTER_LABEL}={scoped(run_id)}"
    return engine_of(run_id).run("ps", "--filter", label, "--format", "{{.Names}}").split()


def pod_of(kube, app):
    """The name of the pod with label app=`app`."""
    found = kube.call(kube.core.list_namespaced_pod, NAMESPACE, label_selector=f"app={app}")
    return found.items[0].metadata.name
