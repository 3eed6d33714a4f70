"""What is not allowed is said before anything is done: all of it, with what it is for; and the manifest allows all."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from chaoslat import paths
from chaoslat.errors import EnvironmentMissing
from chaoslat.kube import access, rbac
from chaoslat.kube.access import CLUSTER_WIDE, NEEDS, Mode, Need, review
from tests.kube_recordings import read, typed


class DoubleOfTheApi:
    """A cluster that allows what `allows(verb, resource)` says."""

    namespace, context, api = "space", "here", None

    def __init__(self, allows):
        self.allows, self.asked = allows, []

    def call(self, act, body):
        self.asked.append(body["spec"]["resourceAttributes"])
        one = self.asked[-1]
        allowed = self.allows(one["verb"], "/".join(filter(None, (one["resource"], one.get("subresource")))))
        recorded = read("access.json")["allowed" if allowed else "denied"]
        return typed("V1SelfSubjectAccessReview", recorded)


def everything(verb, resource):
    return True


class TestCheck:
    def test_a_cluster_that_allows_all_is_fine(self):
        kube = DoubleOfTheApi(everything)
        access.check(kube, (Mode.READ, Mode.INTERVENE))
        asked = {(one["verb"], one["resource"], one.get("subresource", "")) for one in kube.asked}
        assert ("create", "pods", "exec") in asked
        assert ("patch", "pods", "resize") in asked

    def test_all_that_is_denied_is_in_one_error_with_its_reason_and_its_role(self):
        kube = DoubleOfTheApi(lambda verb, resource: resource == "pods")
        with pytest.raises(EnvironmentMissing) as raised:
            access.check(kube, (Mode.READ, Mode.INTERVENE))
        error = str(raised.value)
        for words in ("create pods/exec", "get deployments.apps", "patch pods/resize", "nothing was changed"):
            assert words in error
        assert "chaoslat-read, chaoslat-intervene" in raised.value.fix
        assert "namespace space" in raised.value.where

    def test_a_mode_is_asked_for_once(self):
        kube = DoubleOfTheApi(everything)
        access.check(kube, (Mode.READ, Mode.READ))
        assert len(kube.asked) == sum(len(need.verbs) for need in NEEDS[Mode.READ])

    def test_what_belongs_to_no_namespace_is_asked_without_one(self):
        kube = DoubleOfTheApi(everything)
        access.check(kube, (Mode.NAMESPACE, Mode.READ))
        spaces = {one["resource"]: one["namespace"] for one in kube.asked}
        assert spaces["namespaces"] == ""
        assert spaces["pods"] == "space"


def test_a_question_names_group_and_subresource():
    body = review(Need("pods/resize", ("patch",), "why"), "patch", "space")
    assert body["spec"]["resourceAttributes"] == {
        "verb": "patch",
        "group": "",
        "resource": "pods",
        "subresource": "resize",
        "namespace": "space",
    }


class TestManifest:
    def test_the_file_is_what_the_list_says(self):
        path = paths.repo_root() / access.RBAC
        assert path.read_text() == rbac.text()
        assert list(YAML(typ="safe").load_all(path.read_text())) == rbac.manifest()

    @pytest.mark.parametrize("mode", Mode)
    def test_a_role_for_each_mode_allows_what_it_needs_and_no_more(self, mode):
        (role,) = (
            one
            for one in rbac.manifest()
            if one["kind"].endswith("Role") and one["metadata"]["name"] == f"chaoslat-{mode}"
        )
        assert (role["kind"] == "ClusterRole") == (mode in CLUSTER_WIDE)
        granted = {(r, v) for rule in role["rules"] for r in rule["resources"] for v in rule["verbs"]}
        assert granted == {(need.resource, verb) for need in NEEDS[mode] for verb in need.verbs}
        assert not any("*" in (*rule["resources"], *rule["verbs"]) for rule in role["rules"])
