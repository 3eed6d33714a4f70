"""The kubelet's counters: recorded text, beside what the kernel said at the same time; and a double of the API."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.errors import SystemLost
from chaoslat.kube import cadvisor
from chaoslat.kube.cadvisor import disagreements, parse, read_after
from chaoslat.model import CgroupCpu
from tests.kube_recordings import read

TEXT = read("cadvisor.txt")
RECORDED = read("crosscheck.json")
KERNEL = RECORDED["kernel"]
LEVELS = {"": "pod", "app": "container"}


def kernel(index, container):
    return CgroupCpu(**KERNEL[index][LEVELS[container]])


def around(sampled_s):
    """The kernel's readings just before and just after a sample."""
    later = next(i for i, reading in enumerate(KERNEL) if reading["at_s"] > sampled_s)
    return later - 1, later


class DoubleOfTheApi:
    """Stands in for KubeClient: answers with recorded texts, one a call, the last one for ever."""

    namespace = "default"

    def __init__(self, *texts: str) -> None:
        self.texts, self.core, self.asked = list(texts), self, []

    def connect_get_node_proxy_with_path(self, node: str, path: str) -> str:
        self.asked.append((node, path))
        return self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]

    def call(self, act, *args):
        return act(*args)


class TestParse:
    def test_has_the_pod_first_then_its_container_and_no_sandbox(self) -> None:
        found = parse(TEXT, "default", "guaranteed")
        assert [one.container for one in found] == ["", "app"]
        assert found[1].cpu.path.startswith(f"{found[0].cpu.path}/cri-containerd-")
        assert TEXT.count('image="pause:') > 0

    def test_reads_each_figure_of_the_pod(self) -> None:
        own = parse(TEXT, "default", "guaranteed")[0]
        assert own.cpu == CgroupCpu(own.cpu.path, 20_000, 100_000, 345, 339, 26.677431739, 6.821071631)
        assert own.sampled_s == pytest.approx(1796100996.083, abs=1e-6)

    def test_each_cgroup_has_a_time_of_its_own(self) -> None:
        pod, container = parse(TEXT, "default", "guaranteed")
        assert pod.sampled_s - container.sampled_s == pytest.approx(4.671, abs=1e-3)

    def test_without_a_limit_there_is_no_quota_and_nothing_throttled(self) -> None:
        for one in parse(TEXT, "default", "besteffort"):
            assert (one.cpu.quota_us, one.cpu.periods, one.cpu.throttled_periods) == (None, 0, 0)
            assert one.cpu.usage_s > 0

    @pytest.mark.parametrize(("namespace", "pod"), [("default", "guarantee"), ("kube-system", "guaranteed")])
    def test_other_pods_are_left_out(self, namespace: str, pod: str) -> None:
        assert parse(TEXT, namespace, pod) == ()

    @given(st.text())
    def test_garbage_does_not_get_past_as_a_figure(self, text: str) -> None:
        assert parse(text, "default", "guaranteed") == ()

    def test_a_broken_line_is_an_error(self) -> None:
        line = 'container_cpu_cfs_periods_total{container="",id="/",name="",namespace="default",pod="p"} x'
        with pytest.raises(SystemLost, match="cannot be read"):
            parse(line, "default", "p")


class TestAgainstTheKernel:
    def test_the_recording_has_new_samples_of_both_levels(self) -> None:
        times = {(one.container, one.sampled_s) for text in RECORDED["texts"] for one in self.sampled(text)}
        assert len([time for level, time in times if level == ""]) >= 2
        assert len([time for level, time in times if level == "app"]) >= 2

    @pytest.mark.parametrize("text", RECORDED["texts"])
    def test_they_agree(self, text: str) -> None:
        for sample in self.sampled(text):
            before, after = around(sample.sampled_s)
            assert (
                disagreements(kernel(before, sample.container), sample, kernel(after, sample.container)) == ()
            )

    def test_a_sample_of_another_time_does_not_pass(self) -> None:
        sample = self.sampled(RECORDED["texts"][-1])[0]
        said = disagreements(kernel(0, ""), sample, kernel(1, ""))
        assert len(said) == 4
        assert said[1] == "cAdvisor has throttled_periods 339, the kernel 131 before it and 149 after"

    def test_the_container_falls_short_of_its_pod(self) -> None:
        """Why the pod's level comes first: the same loop, at the same instant."""
        pod, container = kernel(-1, ""), kernel(-1, "app")
        assert container.throttled_periods < pod.throttled_periods
        assert container.throttled_s < 0.7 * pod.throttled_s

    def test_another_quota_is_told(self) -> None:
        sample = self.sampled(RECORDED["texts"][0])[0]
        before, after = (kernel(index, sample.container) for index in around(sample.sampled_s))
        raised = replace(sample, cpu=replace(sample.cpu, quota_us=None))
        assert disagreements(before, raised, after) == ("cAdvisor has quota None, the kernel 20000",)

    @staticmethod
    def sampled(text):
        """The samples taken while the kernel was read too."""
        found = parse(text, "default", "guaranteed")
        return [one for one in found if one.sampled_s > KERNEL[0]["at_s"]]


class TestReadAfter:
    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cadvisor, "POLL_S", 0.001)

    def test_asks_until_all_samples_are_new(self) -> None:
        api = DoubleOfTheApi(*RECORDED["texts"])
        found = read_after(api, "node", "guaranteed", KERNEL[0]["at_s"], 5.0)
        assert min(one.sampled_s for one in found) > KERNEL[0]["at_s"]
        assert api.asked == [("node", "metrics/cadvisor")] * 2

    def test_gives_up_with_the_age_of_the_oldest(self) -> None:
        api = DoubleOfTheApi(RECORDED["texts"][-1])
        with pytest.raises(SystemLost, match="its oldest is from") as raised:
            read_after(api, "node", "guaranteed", KERNEL[-1]["at_s"], 0.01)
        assert "pod default/guaranteed" in raised.value.where

    def test_says_when_the_pod_is_not_known(self) -> None:
        with pytest.raises(SystemLost, match="knows no such pod"):
            read_after(DoubleOfTheApi(TEXT), "node", "nobody", 0.0, 0.01)
