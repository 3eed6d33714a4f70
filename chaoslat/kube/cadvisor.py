"""The kubelet's own view of CPU cgroups (cAdvisor), through the API server: a cross-check of what the kernel says.

It is the figure that most dashboards show. Traps: the kubelet samples each cgroup by itself, every 10 to 19 s, so each
value has its own time; the series of throttling exist only where there is a quota; the pod's own cgroup and its
sandbox both go without a container's name; and pod and container carry the same quota, so that the container's
figures fall short of the pod's (a busy loop at 0.2 cores: 344 of 370 periods, 17 of 29 s).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tenacity
from prometheus_client.parser import text_string_to_metric_families

from chaoslat.errors import SystemLost
from chaoslat.kube.client import KubeClient
from chaoslat.model import CgroupCpu

PATH = "metrics/cadvisor"
POLL_S = 0.5
_PERIOD_US = 100_000
_SERIES = {
    "container_cpu_cfs_periods_total": "periods",
    "container_cpu_cfs_throttled_periods_total": "throttled_periods",
    "container_cpu_cfs_throttled_seconds_total": "throttled_s",
    "container_cpu_usage_seconds_total": "usage_s",
    "container_spec_cpu_quota": "quota_us",
    "container_spec_cpu_period": "period_us",
}
_COUNTERS = ("periods", "throttled_periods", "throttled_s", "usage_s")
_ROUNDING = 1e-6  # the text has seconds with nine digits


@dataclass(frozen=True, slots=True)
class Sample:
    """One cgroup. `container`: "" for the pod's own; `sampled_s`: the node's wall clock when it was read."""

    container: str
    sampled_s: float
    cpu: CgroupCpu


def read(kube: KubeClient, node: str, pod: str) -> tuple[Sample, ...]:
    """The latest samples of a pod and its containers. Needs `get` on `nodes/proxy`. Raises SystemLost."""
    text = kube.call(kube.core.connect_get_node_proxy_with_path, node, PATH)
    return parse(str(text), kube.namespace, pod)


def read_after(
    kube: KubeClient, node: str, pod: str, after_s: float, deadline_s: float
) -> tuple[Sample, ...]:
    """The first samples that are all from after `after_s`, of the node's wall clock.

    Raises SystemLost when the kubelet has none within the deadline.
    """
    waiting = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda found: not _all_after(found, after_s)),
        wait=tenacity.wait_fixed(POLL_S),
        stop=tenacity.stop_after_delay(deadline_s),
    )
    try:
        return waiting(read, kube, node, pod)
    except tenacity.RetryError as last:
        raise SystemLost(
            f"The kubelet has no new sample of CPU within {deadline_s:.0f} s",
            where=f"{node}, pod {kube.namespace}/{pod}",
            why=_ages(last.last_attempt.result(), after_s),
        ) from last


def parse(text: str, namespace: str, pod: str) -> tuple[Sample, ...]:
    """The pod's cgroup first, then its containers by name. Raises SystemLost for a text that is not metrics."""
    found: dict[tuple[str, str], list[Any]] = {}
    for one in _points(text):
        labels = one.labels
        if (labels.get("namespace"), labels.get("pod")) == (namespace, pod) and not _is_sandbox(labels):
            found.setdefault((labels["container"], labels["id"]), []).append(one)
    return tuple(_sample(container, path, points) for (container, path), points in sorted(found.items()))


def _is_sandbox(labels: Mapping[str, str]) -> bool:
    """The pause process: it has a container's identity, but none of the pod's names; with older runtimes, POD."""
    return labels["container"] == "POD" or (not labels["container"] and bool(labels["name"]))


def disagreements(earlier: CgroupCpu, sample: Sample, later: CgroupCpu) -> tuple[str, ...]:
    """Where the kubelet contradicts the kernel, in sentences; empty when it does not.

    Counters only grow: what was sampled between two readings of the kernel must lie between them. `earlier` has to
    be from before `sample.sampled_s`, `later` from after it.
    """
    bounds = ((name, getattr(earlier, name), getattr(later, name)) for name in _COUNTERS)
    wrong = [
        f"cAdvisor has {name} {getattr(sample.cpu, name):g}, the kernel {least:g} before it and {most:g} after"
        for name, least, most in bounds
        if not least - _ROUNDING <= getattr(sample.cpu, name) <= most + _ROUNDING
    ]
    quotas = {earlier.quota_us, later.quota_us}
    if sample.cpu.quota_us not in quotas:
        wrong.append(f"cAdvisor has quota {sample.cpu.quota_us}, the kernel {_either(quotas)}")
    return tuple(wrong)


def _points(text: str) -> Iterator[Any]:
    """The points of our series. The rest, most of a few megabytes on a full node, is not parsed."""
    ours = "\n".join(line for line in text.splitlines() if line.partition("{")[0] in _SERIES)
    try:
        for family in text_string_to_metric_families(ours + "\n"):
            yield from family.samples
    except (ValueError, KeyError, IndexError) as error:
        raise SystemLost("The kubelet's metrics cannot be read", where=PATH, why=repr(error)) from error


def _sample(container: str, path: str, points: Iterable[Any]) -> Sample:
    values = {_SERIES[one.name]: one.value for one in points}
    times = [float(one.timestamp) for one in points if one.timestamp is not None]
    quota = values.get("quota_us", 0)
    return Sample(
        container=container,
        sampled_s=min(times, default=0.0),
        cpu=CgroupCpu(
            path=path,
            quota_us=int(quota) if quota > 0 else None,
            period_us=int(values.get("period_us", _PERIOD_US)),
            periods=int(values.get("periods", 0)),
            throttled_periods=int(values.get("throttled_periods", 0)),
            throttled_s=float(values.get("throttled_s", 0.0)),
            usage_s=float(values.get("usage_s", 0.0)),
        ),
    )


def _all_after(found: tuple[Sample, ...], after_s: float) -> bool:
    return bool(found) and all(one.sampled_s > after_s for one in found)


def _ages(found: tuple[Sample, ...], after_s: float) -> str:
    if not found:
        return "it knows no such pod"
    oldest_s = min(one.sampled_s for one in found)
    return f"its oldest is from {after_s - oldest_s:.1f} s before the time asked for"


def _either(quotas: Iterable[int | None]) -> str:
    return " or ".join(sorted(map(str, quotas)))
