"""How a limit is lifted: in place, with the request as it is where the class allows it, else with it, else not here."""

from __future__ import annotations

from decimal import Decimal

import pytest

from chaoslat.backends.kube.lift import LIFTED_CORES, body, lifting, quota_of
from chaoslat.backends.pods.place import Place
from chaoslat.errors import NotHere
from chaoslat.kube.qos import PodResources, Resources

PLACE = Place("pod-1", "app")


def pod(requests, limits, **more):
    def amounts(given):
        return {name: Decimal(value) for name, value in given.items()}

    return PodResources({"app": Resources(amounts(requests), amounts(limits))}, **more)


def test_a_burstable_pod_keeps_its_request():
    remedy = lifting(pod({"cpu": "0.1"}, {"cpu": "0.25"}), PLACE)
    after = remedy.after.containers["app"]
    assert (after.requests["cpu"], after.limits["cpu"]) == (Decimal("0.1"), LIFTED_CORES)
    assert remedy.qos == "Burstable"
    assert remedy.in_place


def test_a_guaranteed_pod_gets_a_larger_request_and_stays_guaranteed():
    both = {"cpu": "0.5", "memory": "64"}
    remedy = lifting(pod(both, both), PLACE)
    after = remedy.after.containers["app"]
    assert after.requests["cpu"] == after.limits["cpu"] == Decimal("1.0")
    assert remedy.qos == "Guaranteed"


def test_no_limit_cannot_be_lifted():
    with pytest.raises(NotHere, match="no CPU limit of its own"):
        lifting(pod({"cpu": "0.1"}, {}), PLACE)


def test_a_pod_with_resources_of_its_own_takes_a_new_pod():
    whole = Resources({}, {"cpu": Decimal(1)})
    with pytest.raises(NotHere, match="takes a new pod"):
        lifting(pod({"cpu": "0.1"}, {"cpu": "0.25"}, whole=whole), PLACE)


def test_the_patch_says_cpu_and_nothing_else():
    wanted = Resources({"memory": Decimal(1)}, {"cpu": Decimal("0.29"), "memory": Decimal(1)})
    made = body("app", wanted)
    assert made == {"spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": "290m"}}}]}}
    assert quota_of(made) == 29_000


def test_a_patch_without_a_limit_comes_to_no_quota():
    assert quota_of(body("app", Resources({"cpu": Decimal(1)}, {}))) is None
