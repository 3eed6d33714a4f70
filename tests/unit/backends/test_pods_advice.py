"""What is said beside a finding of throttling."""

from decimal import Decimal

from chaoslat.backends.pods.advice import advice
from chaoslat.backends.pods.place import Place
from chaoslat.errors import SystemLost
from chaoslat.kube.qos import PodResources, Resources


class View:
    """A double of PodView: a pod whose limit the runbook has lifted to two cores by now."""

    place = Place("app-1", "app")

    def resources(self):
        lifted = {"cpu": Decimal(2), "memory": Decimal(512)}
        return PodResources({"app": Resources({"cpu": Decimal("0.1"), "memory": Decimal(128)}, lifted)})


class Gone(View):
    """A double of PodView whose pod is gone."""

    def resources(self):
        raise SystemLost("no such pod", where="app-1")


def test_it_starts_from_the_limit_that_throttled_not_from_the_lifted_one():
    said = advice(View(), ("cpu-throttling",), 25_000)
    assert said[0].startswith("A, request = limit: request 0.5 cores, limit 0.5 cores; stays Burstable")
    assert "reserves 0.5 cores instead of 0.1 cores; in place" in said[0]
    assert said[1].startswith("B, request stays: request 0.1 cores, limit 0.5 cores; stays Burstable")
    assert "reserves 0.1 cores as before; in place" in said[1]
    assert "takes a new pod: a limit cannot be removed in place" in said[2]
    assert "never throttling" in said[3]


def test_another_cause_needs_no_words_of_limits():
    assert advice(View(), ("pool-wait",), 25_000) == ()
    assert advice(View(), ("cpu-throttling",), None) == ()


def test_a_pod_that_is_gone_is_said_and_raises_nothing():
    (said,) = advice(Gone(), ("cpu-throttling",), 25_000)
    assert "no such pod" in said
