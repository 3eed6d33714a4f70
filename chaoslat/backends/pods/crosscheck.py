"""The kubelet's own figures of a container's CPU cgroup, against what the kernel shows inside it."""

from __future__ import annotations

from chaoslat.backends.pods.view import PodView
from chaoslat.errors import ChaoslatError
from chaoslat.kube import cadvisor
from chaoslat.kube.client import KubeClient

SAMPLE_S = 30.0
"""The kubelet samples every 10 to 19 s."""


def crosscheck(kube: KubeClient, cpu: PodView) -> str:
    """One sentence: what cAdvisor has, and whether the kernel agrees. A kubelet that does not say is told, too."""
    place = cpu.place
    try:
        earlier, after_s = cpu.read(), cpu.clock_s()
        samples = cadvisor.read_after(kube, cpu.node(), place.name, after_s, SAMPLE_S)
        sample = next(one for one in samples if one.container == place.container)
        wrong = cadvisor.disagreements(earlier, sample, cpu.read())
    except (ChaoslatError, StopIteration) as error:
        return f"cAdvisor on {place.path}: not here: {error}"
    seen = sample.cpu
    figures = f"{seen.throttled_periods} of {seen.periods} periods throttled, {seen.throttled_s:.1f} s in all"
    return f"cAdvisor on {place.path}: {figures}; {'; '.join(wrong) or 'the kernel agrees'}"
