"""A namespace is ours when we made it or it carries our label; the undo cannot reach another."""

from __future__ import annotations

import pytest

from chaoslat.backends.kube import namespace
from chaoslat.backends.kube.login import Login
from chaoslat.errors import Busy, UsageError
from tests.kube_recordings import read, typed

RUN = "0a1b2c3d"
LOGIN = Login("/bin/kubectl", "/run/kubeconfig", "here")


class DoubleOfTheApi:
    """A cluster with one namespace, or none; keeps what is created."""

    namespace = "space"

    def __init__(self, labels=None):
        self.labels, self.created, self.core = labels, [], self

    def call(self, act, *args):
        return act(*args, _request_timeout=1.0)

    def read_namespace(self, name, _request_timeout):
        from kubernetes.client.exceptions import ApiException

        if self.labels is None:
            raise ApiException(status=404, reason="Not Found")
        found = typed("V1Namespace", read("namespace.json"))
        found.metadata.labels = self.labels
        return found

    def create_namespace(self, body, _request_timeout):
        self.created.append(body)


def claimed(kube):
    promised = []
    made = namespace.claim(kube, LOGIN, RUN, lambda kind, **args: promised.append((kind, args)) or 1)
    return made, promised


def test_one_that_is_not_there_is_made_with_our_label_after_its_removal_was_promised():
    kube = DoubleOfTheApi()
    made, promised = claimed(kube)
    assert made
    assert kube.created == [{"metadata": {"name": "space", "labels": {"chaoslat.run": RUN}}}]
    ((kind, args),) = promised
    assert kind == "kube"
    assert args["argv"][1:3] == ["delete", "namespaces"]


def test_its_removal_goes_by_label_so_that_a_strangers_of_that_name_stays():
    argv = namespace.undo_namespace(LOGIN, "space", RUN)["argv"]
    assert f"--selector=chaoslat.run={RUN}" in argv
    assert "--field-selector=metadata.name=space" in argv


def test_one_that_is_lent_stays_and_our_objects_in_it_go():
    made, ((_, args),) = claimed(DoubleOfTheApi({"chaoslat.run": "allowed"}))
    assert not made
    assert "deployments,services" in args["argv"]
    assert f"--selector=chaoslat.run={RUN}" in args["argv"]
    assert args["existing"] is True


@pytest.mark.parametrize("labels", [{}, {"kubernetes.io/metadata.name": "space"}])
def test_one_without_our_label_is_refused_before_anything_is_promised(labels):
    with pytest.raises(UsageError, match="does not carry our label") as raised:
        claimed(DoubleOfTheApi(labels))
    assert "kubectl label namespace space chaoslat.run=allowed" in raised.value.fix


def test_one_of_another_run_is_refused():
    with pytest.raises(Busy, match="another run"):
        claimed(DoubleOfTheApi({"chaoslat.run": "ffffffff"}))


def test_an_undo_takes_a_runs_id():
    with pytest.raises(UsageError):
        namespace.undo_objects(LOGIN, "space", "allowed")
