"""The debug container of a pod: found again, made when missing, and why it does not run, as a real kubelet said it."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from chaoslat.errors import SystemLost
from chaoslat.kube import debug
from chaoslat.kube.debug import Debug, attach, new_name, running
from tests.kube_recordings import read, typed

RUNNING, STOPPED, FAILED = (
    typed("V1Pod", read(f"pod_{name}.json")) for name in ("running", "stopped", "failed")
)
MADE = RUNNING.spec.ephemeral_containers[0]
WANTED = Debug(RUNNING.metadata.name, "app", MADE.image, tuple(MADE.command), "Never")
NAME = MADE.name


def without_containers(pod):
    bare = copy.deepcopy(pod)
    bare.spec.ephemeral_containers = bare.status.ephemeral_container_statuses = None
    return bare


class DoubleOfTheApi:
    """A client that gives one pod after another, the last for ever, and keeps what it was asked to patch."""

    namespace = "chaoslat"

    def __init__(self, *pods, log="the end of its log\n"):
        self.pods, self.log, self.core, self.patches = list(pods), log, self, []

    def call(self, act, *args, **named):
        return act(*args, **named)

    def read_namespaced_pod(self, name, namespace):
        return self.pods.pop(0) if len(self.pods) > 1 else self.pods[0]

    def read_namespaced_pod_log(self, name, namespace, *, container, tail_lines):
        return self.log

    def patch_namespaced_pod_ephemeralcontainers(self, name, namespace, body):
        self.patches.append(body)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debug, "POLL_S", 0.001)


def named(pod, name):
    """The spec and the status of an ephemeral container in a recording."""
    spec = next(one for one in pod.spec.ephemeral_containers if one.name == name)
    status = next(one for one in pod.status.ephemeral_container_statuses if one.name == name)
    return spec, status


def of_command(pod, argv):
    spec = next(one for one in pod.spec.ephemeral_containers if one.command == argv)
    return replace(WANTED, image=spec.image, command=tuple(argv)), spec.name


class TestFinding:
    def test_the_one_that_runs_the_same(self) -> None:
        assert running(RUNNING, WANTED) == NAME

    def test_not_one_that_runs_something_else(self) -> None:
        assert running(RUNNING, replace(WANTED, command=("sleep", "9"))) == ""

    def test_not_one_that_has_ended(self) -> None:
        assert named(STOPPED, NAME)[1].state.terminated
        assert running(STOPPED, WANTED) == ""

    def test_none_in_a_pod_without_any(self) -> None:
        assert running(without_containers(RUNNING), WANTED) == ""

    def test_names_are_not_used_again(self) -> None:
        assert new_name(without_containers(RUNNING)) == "chaoslat-debug-1"
        assert new_name(RUNNING) == "chaoslat-debug-2"
        taken = {one.name for one in FAILED.spec.ephemeral_containers}
        assert new_name(FAILED) not in taken


class TestAttach:
    def test_makes_one_and_waits_for_it(self) -> None:
        bare = without_containers(RUNNING)
        api = DoubleOfTheApi(bare, bare, RUNNING)
        assert attach(api, WANTED) == NAME
        (patch,) = api.patches
        assert patch == {"spec": {"ephemeralContainers": [WANTED.spec(NAME)]}}

    def test_uses_the_one_that_is_there(self) -> None:
        api = DoubleOfTheApi(RUNNING)
        assert attach(api, WANTED) == NAME
        assert api.patches == []

    def test_the_api_server_kept_what_was_asked(self) -> None:
        """As profile general makes it: targets the container, may trace its processes."""
        assert MADE.target_container_name == WANTED.container
        assert MADE.security_context.capabilities.add == ["SYS_PTRACE"]
        assert MADE.security_context.run_as_user == 0
        app = next(one for one in RUNNING.spec.containers if one.name == "app")
        assert app.security_context.run_as_non_root

    def test_an_image_that_is_not_there_is_told_after_the_deadline(self) -> None:
        wanted, _ = of_command(FAILED, ["sleep", "9"])
        bare = without_containers(RUNNING)
        before = copy.deepcopy(FAILED)
        before.spec.ephemeral_containers = before.spec.ephemeral_containers[:2]
        with pytest.raises(SystemLost, match="did not run within") as raised:
            attach(DoubleOfTheApi(before, FAILED), wanted, 0.01)
        assert "ErrImageNeverPull" in raised.value.why
        assert bare.spec.ephemeral_containers is None

    def test_one_that_ends_at_once_is_told_with_its_log(self) -> None:
        wanted, name = of_command(FAILED, ["sh", "-c", "echo bad >&2; exit 4"])
        before = copy.deepcopy(FAILED)
        before.spec.ephemeral_containers = [
            one for one in before.spec.ephemeral_containers if one.name != name
        ]
        with pytest.raises(SystemLost, match="The debug container ended") as raised:
            attach(DoubleOfTheApi(before, FAILED, log="bad\n"), wanted)
        assert raised.value.why == "Error, exit code 4; bad"
        assert f"container {name} of pod chaoslat/" in raised.value.where

    def test_a_kubelet_that_says_nothing(self) -> None:
        with pytest.raises(SystemLost) as raised:
            attach(DoubleOfTheApi(without_containers(RUNNING)), WANTED, 0.01)
        assert raised.value.why == "the kubelet has not seen it yet"
