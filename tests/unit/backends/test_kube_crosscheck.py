"""cAdvisor beside the kernel: recorded texts and readings of one moment; a kubelet that says nothing is told."""

from __future__ import annotations

from chaoslat.backends.pods.crosscheck import crosscheck
from chaoslat.backends.pods.place import Place
from chaoslat.errors import SystemLost
from chaoslat.kube import cadvisor
from tests.kube_recordings import read

TEXT = read("cadvisor.txt")
SAMPLE = cadvisor.parse(TEXT, "default", "guaranteed")[1]


class DoubleOfTheKubelet:
    """Has one text; `error`: it has none."""

    namespace = "default"

    def __init__(self, error=None):
        self.core, self.error = self, error

    def connect_get_node_proxy_with_path(self, node, path):
        return TEXT

    def call(self, act, *args):
        if self.error:
            raise self.error
        return act(*args)


class DoubleOfTheContainer:
    """The kernel's reading is what cAdvisor has, or other figures."""

    place = Place("guaranteed", "app")

    def __init__(self, cpu):
        self.cpu = cpu

    def read(self):
        return self.cpu

    def clock_s(self):
        return SAMPLE.sampled_s - 1.0

    def node(self):
        return "node"


def test_it_says_what_the_kubelet_has_and_that_the_kernel_agrees():
    said = crosscheck(DoubleOfTheKubelet(), DoubleOfTheContainer(SAMPLE.cpu))
    assert f"{SAMPLE.cpu.throttled_periods} of {SAMPLE.cpu.periods} periods throttled" in said
    assert said.endswith("the kernel agrees")


def test_a_contradiction_is_told():
    other = cadvisor.parse(TEXT, "default", "burstable")[1].cpu
    said = crosscheck(DoubleOfTheKubelet(), DoubleOfTheContainer(other))
    assert "cAdvisor has" in said
    assert "agrees" not in said


def test_a_kubelet_that_does_not_answer_is_told():
    double = DoubleOfTheKubelet(SystemLost("The cluster refused it", why="forbidden"))
    assert "not here: The cluster refused it" in crosscheck(double, DoubleOfTheContainer(SAMPLE.cpu))
