"""The namespace of a run on a cluster that exists: made with our label, or one that carries it already. No other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubernetes.client.exceptions import ApiException

from chaoslat.backends.kube.login import Login
from chaoslat.errors import Busy, ChaoslatError, UsageError
from chaoslat.kube.client import KubeClient, reason
from chaoslat.ledger import JsonValue
from chaoslat.ledger.names import check_run_id

LABEL = "chaoslat.run"
ALLOWED = "allowed"
"""The label's value in a namespace that somebody lends us; in one that a run made, it is the run's id."""
Promise = Callable[..., int]


def claim(kube: KubeClient, login: Login, run_id: str, promise: Promise) -> bool:
    """Whether the namespace was made: it goes with the run. One that is lent stays, and only our objects in it go.

    Raises UsageError for a namespace without our label, Busy for another run's; nothing was made then.
    """
    labels = labels_of(kube)
    if labels is None:
        promise("kube", **undo_namespace(login, kube.namespace, run_id))
        _create(kube, run_id)
        return True
    refuse_foreign(kube.namespace, labels)
    promise("kube", **undo_objects(login, kube.namespace, run_id))
    return False


def labels_of(kube: KubeClient) -> dict[str, str] | None:
    """The namespace's labels; None when there is no such namespace. Raises SystemLost."""
    try:
        found = kube.call(_read, kube)
    except _Absent:
        return None
    return dict(found.metadata.labels or {})


def refuse_foreign(name: str, labels: dict[str, str]) -> None:
    """Raises UsageError or Busy unless the namespace is lent to us."""
    value = labels.get(LABEL)
    if value == ALLOWED:
        return
    if value is None:
        raise UsageError(
            f"Namespace {name} does not carry our label, so nothing is done in it",
            why=f"there is no label {LABEL}; its labels: {', '.join(labels) or 'none'}",
            fix=f"name one that does not exist yet, or: kubectl label namespace {name} {LABEL}={ALLOWED}",
        )
    raise Busy(
        f"Namespace {name} belongs to another run",
        where=f"{LABEL}={value}",
        fix=f"chaoslat down {value} where it was made, or name another namespace",
    )


def undo_namespace(login: Login, name: str, run_id: str) -> dict[str, JsonValue]:
    """By name and label, so that one that somebody else made meanwhile under this name is left alone."""
    mine = (f"--selector={LABEL}={check_run_id(run_id)}", f"--field-selector=metadata.name={name}")
    return login.undo("delete", "namespaces", *mine, "--wait=false")


def undo_objects(login: Login, name: str, run_id: str) -> dict[str, JsonValue]:
    """All that the run made in a namespace that stays."""
    mine = (f"--namespace={name}", f"--selector={LABEL}={check_run_id(run_id)}")
    return login.undo("delete", "deployments,services", *mine, "--wait=false")


class _Absent(Exception):
    """There is no such namespace."""


def _read(kube: KubeClient, _request_timeout: float) -> Any:
    try:
        return kube.core.read_namespace(kube.namespace, _request_timeout=_request_timeout)
    except ApiException as error:
        if error.status == 404:
            raise _Absent from error
        raise


def _create(kube: KubeClient, run_id: str) -> None:
    body = {"metadata": {"name": kube.namespace, "labels": {LABEL: run_id}}}
    kube.call(_created, kube, body)


def _created(kube: KubeClient, body: dict[str, Any], _request_timeout: float) -> None:
    try:
        kube.core.create_namespace(body, _request_timeout=_request_timeout)
    except ApiException as error:
        if error.status != 409:
            raise
        raise ChaoslatError(
            f"Namespace {kube.namespace} was made by somebody else meanwhile", why=reason(error)
        ) from error
