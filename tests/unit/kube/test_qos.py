"""QoS class and reservation: our reading against the API server's, for pods of every kind that it has rules for."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import ChaoslatError
from chaoslat.kube import qos
from chaoslat.kube.qos import PodResources, Resources
from tests.kube_recordings import read, typed

CASES = {case["name"]: case for case in read("qos.json")}
FACTS = read("facts.json")
MIB = 2**20
PODS = ("guaranteed", "burstable", "besteffort")


def pod_of(case, part):
    return qos.of(typed("V1PodSpec", case[part]))


def asking(cpu="0", *, sidecar=False):
    return Resources(requests=qos.amounts({"cpu": cpu}), sidecar=sidecar)


class TestClass:
    def test_the_recording_has_every_class(self) -> None:
        assert {case["qos"] for case in CASES.values()} == {"Guaranteed", "Burstable", "BestEffort"}

    @pytest.mark.parametrize("name", CASES)
    def test_is_what_the_api_server_says_of_the_pod(self, name: str) -> None:
        assert pod_of(CASES[name], "spec").qos == CASES[name]["qos"]

    @pytest.mark.parametrize("name", CASES)
    def test_is_known_before_the_api_server_fills_in_requests(self, name: str) -> None:
        assert pod_of(CASES[name], "asked").qos == CASES[name]["qos"]


class TestReserved:
    def test_a_limit_alone_is_reserved_too(self) -> None:
        assert pod_of(CASES["limits only"], "asked").reserved("cpu") == 1

    def test_containers_add_up(self) -> None:
        assert pod_of(CASES["crossed"], "spec").reserved("cpu") == Decimal("1.2")

    def test_an_init_container_counts_when_it_asks_for_more(self) -> None:
        assert pod_of(CASES["init container equal"], "spec").reserved("cpu") == 2

    def test_a_sidecar_adds_to_the_containers(self) -> None:
        assert pod_of(CASES["sidecar burstable"], "spec").reserved("cpu") == Decimal("1.1")

    def test_an_init_container_runs_beside_the_sidecars_before_it_only(self) -> None:
        first, later = asking("1", sidecar=True), asking("1", sidecar=True)
        pod = PodResources({"c": asking("100m")}, init=(first, asking("2"), later))
        assert pod.reserved("cpu") == 3

    def test_the_pod_s_own_request_counts_instead(self) -> None:
        assert pod_of(CASES["pod level burstable"], "spec").reserved("cpu") == 1
        assert pod_of(CASES["pod level equal"], "spec").reserved("memory") == 64 * MIB

    def test_overhead_is_added(self) -> None:
        pod = PodResources({"c": asking("100m")}, overhead=qos.amounts({"cpu": "50m"}))
        assert pod.reserved("cpu") == Decimal("0.15")

    def test_the_reservation_of_the_recorded_node_is_what_its_kubelet_counted(self) -> None:
        """ "used: 1050" is what the kubelet said of the others when the burstable pod wanted more."""
        said = read("resize.json")["burstable: cpu request = limit"]["conditions"][0][2]
        others = (asking(cpu) for cpu in ("200m", "100m", "100m", "100m", "250m", "200m", "100m"))
        total = sum(PodResources({"c": one}).reserved("cpu") for one in others)
        assert f"used: {int(total * 1000)}," in said


class TestAmounts:
    @pytest.mark.parametrize("text", ["", "1x", "64mi", "one"])
    def test_what_is_no_quantity_is_an_error(self, text: str) -> None:
        with pytest.raises(ChaoslatError, match="Not a quantity"):
            qos.amount(text)

    @given(st.integers(1, 10**6))
    def test_millicores_are_exact(self, milli: int) -> None:
        assert qos.amount(f"{milli}m") * 1000 == milli


class TestWhatTheNodeMakesOfIt:
    @pytest.mark.parametrize(("pod", "request_cores"), [*zip(PODS, ("0.2", "0.1", "0"), strict=True)])
    def test_shares_are_those_that_the_kubelet_wrote(self, pod: str, request_cores: str) -> None:
        shares = qos.cpu_shares(Decimal(request_cores))
        assert str(shares) == FACTS[pod]["cpu_shares_container"] == FACTS[pod]["cpu_shares_pod"]

    @pytest.mark.parametrize("pod", PODS)
    def test_oom_score_is_what_the_kubelet_wrote(self, pod: str) -> None:
        """The recorded node may not go below the score of its own processes, which was 0."""
        memory_bytes = qos.amount(FACTS["node"]["capacity"]["memory"])
        score = qos.oom_score_adj(FACTS[pod]["qos"], Decimal(64 * MIB), memory_bytes)
        assert max(score, 0) == FACTS[pod]["oom_score_adj"]

    @given(st.integers(0, 2**40), st.integers(2**20, 2**40))
    def test_burstable_is_killed_after_besteffort_and_before_guaranteed(self, asked: int, node: int) -> None:
        score = qos.oom_score_adj("Burstable", Decimal(asked), Decimal(node))
        assert 3 <= score < qos.oom_score_adj("BestEffort", Decimal(0), Decimal(node))
        assert qos.oom_score_adj("Guaranteed", Decimal(asked), Decimal(node)) < score
