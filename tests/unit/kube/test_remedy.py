"""Ways out of a CPU limit: what each does in words, and whether the API server would do it in place, as it said."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from chaoslat.kube import qos, remedy
from chaoslat.kube.qos import PodResources, Resources
from chaoslat.kube.remedy import NodeRoom, gentlest, obstacle, remedies
from tests.kube_recordings import read, typed

ATTEMPTS = read("resize.json")
OBSTACLES = {
    "Pod QOS Class may not change": "QoS class",
    "limits cannot be removed": "limit cannot be removed",
    "accepted": "",
}
STARTED = {  # as the recorded pods were made
    "burstable": Resources(
        qos.amounts({"cpu": "100m", "memory": "64Mi"}), qos.amounts({"cpu": "150m", "memory": "128Mi"})
    ),
    "guaranteed": Resources(
        qos.amounts({"cpu": "200m", "memory": "64Mi"}), qos.amounts({"cpu": "200m", "memory": "64Mi"})
    ),
    "besteffort": Resources(),
}
ROOM = NodeRoom(allocatable_cores=Decimal(2), reserved_cores=Decimal("1.15"))


def pod_of(resources):
    return PodResources({"app": resources})


def patched(resources, patch):
    """The patch merged in, and requests filled in from limits, as the API server does."""
    limits = merged(resources.limits, patch.get("limits", {}))
    asked = merged(resources.requests, patch.get("requests", {}))
    return Resources({**limits, **asked}, limits)


def merged(old, new):
    kept = {name: value for name, value in old.items() if name not in new}
    return {**kept, **qos.amounts({name: value for name, value in new.items() if value is not None})}


def replayed():
    """Each recorded attempt with the resources before and after it; an accepted one stays."""
    now = dict(STARTED)
    for name, attempt in ATTEMPTS.items():
        before = now[attempt["pod"]]
        after = patched(before, attempt["resources"])
        if attempt["said"] == "accepted":
            now[attempt["pod"]] = after
        yield name, attempt, before, after


REPLAYED = [one for one in replayed() if "must be less than" not in one[1]["said"]]


def way(letter, resources=STARTED["burstable"], limit="1", room=None):
    found = remedies(pod_of(resources), "app", Decimal(limit), room)
    return next(one for one in found if one.name.startswith(letter))


class TestObstacle:
    @pytest.mark.parametrize(
        ("attempt", "before", "after"), [one[1:] for one in REPLAYED], ids=[one[0] for one in REPLAYED]
    )
    def test_is_there_exactly_when_the_api_server_refused(self, attempt, before, after) -> None:
        expected = next(ours for theirs, ours in OBSTACLES.items() if theirs in attempt["said"])
        found = obstacle(pod_of(before), pod_of(after), "app")
        assert bool(found) is bool(expected)
        assert expected in found

    def test_a_pod_with_resources_of_its_own(self) -> None:
        own = replace(pod_of(STARTED["burstable"]), whole=STARTED["burstable"])
        assert "resources of its own" in obstacle(own, own, "app")


class TestRemedies:
    def test_a_request_as_large_as_the_limit_stays_burstable_for_memory_s_sake(self) -> None:
        assert way("A").sentence == (
            "A, request = limit: request 1 core, limit 1 core; stays Burstable (its memory request is not its "
            "limit); reserves 1 core instead of 0.1 cores; in place, the pod goes on running."
        )

    def test_another_container_keeps_it_burstable(self) -> None:
        pod = PodResources({"app": STARTED["guaranteed"], "other": Resources()})
        assert "(for its other containers)" in remedies(pod, "app", Decimal(1))[0].sentence

    def test_a_request_that_stays_reserves_as_before(self) -> None:
        assert way("B").sentence == (
            "B, request stays: request 0.1 cores, limit 1 core; stays Burstable; reserves 0.1 cores as before; "
            "in place, the pod goes on running."
        )

    def test_guaranteed_to_burstable_takes_a_new_pod(self) -> None:
        assert way("B", STARTED["guaranteed"]).sentence == (
            "B, request stays: request 0.2 cores, limit 1 core; Guaranteed -> Burstable, killed before Guaranteed "
            "pods when the node runs out of memory, sooner the less memory it requests; reserves 0.2 cores as "
            "before; takes a new pod: the QoS class cannot change in place."
        )

    def test_guaranteed_stays_so_with_both_raised(self) -> None:
        found = way("A", STARTED["guaranteed"])
        assert (found.qos, found.in_place, found.reserves_cores) == ("Guaranteed", True, 1)

    def test_no_limit_takes_a_new_pod(self) -> None:
        found = way("C")
        assert (found.in_place, found.qos) == (False, "Burstable")
        assert "request 0.1 cores, no limit" in found.sentence

    def test_a_limit_lower_than_the_request_takes_the_request_along(self) -> None:
        assert way("B", limit="0.05").after.containers["app"].requests["cpu"] == Decimal("0.05")

    def test_memory_is_left_alone(self) -> None:
        for letter in "ABC":
            after = way(letter).after.containers["app"]
            assert after.limits["memory"] == 128 * 2**20
            assert after.requests["memory"] == 64 * 2**20


class TestRoom:
    """The recorded node: 2 cores, 1.15 reserved, 0.1 of them by the pod itself."""

    def test_a_request_that_the_node_refused_for_now_is_told(self) -> None:
        said = ATTEMPTS["burstable: cpu request = limit"]["conditions"][0]
        assert said[1] == "Deferred"
        assert "the node has only 0.95 cores for it" in way("A", limit="1", room=ROOM).sentence

    def test_one_that_it_could_never_have_is_told(self) -> None:
        said = ATTEMPTS["burstable: request larger than the node"]["conditions"][0]
        assert said[1] == "Infeasible"
        assert "never be done there" in way("A", limit="64", room=ROOM).sentence

    def test_a_limit_needs_no_room(self) -> None:
        assert ATTEMPTS["burstable: limit larger than the node"]["conditions"] == []
        assert way("B", limit="64", room=ROOM).crowded == ""

    def test_what_fits_is_not_spoken_of(self) -> None:
        assert way("A", limit="0.9", room=ROOM).crowded == ""


class TestGentlest:
    def test_burstable_keeps_its_request(self) -> None:
        assert gentlest(remedies(pod_of(STARTED["burstable"]), "app", Decimal(2), ROOM)).name[0] == "B"

    def test_guaranteed_raises_both_rather_than_have_a_new_pod(self) -> None:
        assert gentlest(remedies(pod_of(STARTED["guaranteed"]), "app", Decimal("0.4"), ROOM)).name[0] == "A"

    def test_a_new_pod_rather_than_a_resize_that_waits_for_ever(self) -> None:
        found = gentlest(remedies(pod_of(STARTED["guaranteed"]), "app", Decimal(2), ROOM))
        assert (found.name[0], found.in_place) == ("B", False)


class TestPending:
    @pytest.mark.parametrize("name", ATTEMPTS)
    def test_is_what_the_node_says(self, name: str) -> None:
        said = ATTEMPTS[name]["conditions"]
        conditions = [
            {"type": kind, "status": "True", "reason": why, "message": text} for kind, why, text in said
        ]
        pod = typed("V1Pod", {"status": {"conditions": conditions}})
        assert remedy.pending(pod) == "; ".join(f"{why}: {text}" for _, why, text in said)

    def test_nothing_waits_in_a_pod_without_conditions(self) -> None:
        assert remedy.pending(typed("V1Pod", {"status": {}})) == ""
