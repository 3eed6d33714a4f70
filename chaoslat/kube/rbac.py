"""The RBAC manifest, written from the list of what is needed: `python -m chaoslat.kube.rbac > clusters/kube/rbac.yaml`.

A role for each mode, so that a user is given those that are wanted and no more.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML

from chaoslat.kube.access import CLUSTER_WIDE, NEEDS, Mode, Need

NAME = "chaoslat"
NAMESPACE = "chaoslat"
HEAD = """\
# All that chaoslat needs of a cluster, a role for each thing that is to be done (written from chaoslat/kube/access.py
# by `python -m chaoslat.kube.rbac`). Take the roles that you want; put your namespace in the place of `chaoslat`.
#
#   read        the read-only steps of `chaoslat diagnose --backend kube`
#   debug       the same with a debug container in the workload's pod (--tools-image)
#   intervene   the same with --allow-interventions
#   node        the same with --allow-node; `get nodes/proxy` also reads the logs of every pod on a node
#   trial       trials: a system of our own in this namespace, faults included (--chaos-backend=kube)
#   namespace   trials in a namespace that the run makes and removes
"""


def manifest() -> list[dict[str, Any]]:
    """A service account, and for each mode a role and its binding."""
    return [_account(), *(one for mode in Mode for one in _role_and_binding(mode))]


def text() -> str:
    """The file."""
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 110
    out = io.StringIO()
    yaml.dump_all(manifest(), out)
    return HEAD + out.getvalue()


def _account() -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": NAME, "namespace": NAMESPACE}}


def _role_and_binding(mode: Mode) -> Iterator[dict[str, Any]]:
    prefix = "Cluster" if mode in CLUSTER_WIDE else ""
    metadata: dict[str, Any] = {"name": f"{NAME}-{mode}"}
    if not prefix:
        metadata["namespace"] = NAMESPACE
    api = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    yield {**api, "kind": f"{prefix}Role", "metadata": metadata, "rules": [_rule(n) for n in NEEDS[mode]]}
    yield {
        **api,
        "kind": f"{prefix}RoleBinding",
        "metadata": dict(metadata),
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": f"{prefix}Role",
            "name": metadata["name"],
        },
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }


def _rule(need: Need) -> dict[str, Any]:
    return {"apiGroups": [need.group], "resources": [need.resource], "verbs": list(need.verbs)}


if __name__ == "__main__":
    sys.stdout.write(text())
