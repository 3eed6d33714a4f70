"""What could be done for good about a CPU limit that was found to throttle, said beside the diagnosis."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from chaoslat.backends.pods.view import PodView
from chaoslat.errors import ChaoslatError
from chaoslat.kube import qos
from chaoslat.kube.remedy import REQUEST_ALONE, remedies
from chaoslat.kube.resize import PERIOD_US
from chaoslat.model import Cause

FACTOR = 2
"""How far a limit is raised in what is proposed: it is for the reader to choose how far."""


def advice(view: PodView, causes: tuple[Cause, ...], throttled_us: int | None) -> tuple[str, ...]:
    """`throttled_us`: the quota that throttled, None where it is not known. What cannot be asked is said, and
    raises nothing."""
    if "cpu-throttling" not in causes or throttled_us is None:
        return ()
    try:
        return (*_ways(view, Decimal(throttled_us) / PERIOD_US), REQUEST_ALONE)
    except ChaoslatError as error:
        return (f"what can be done about the CPU limit cannot be said: {error}",)


def _ways(view: PodView, limit_cores: Decimal) -> list[str]:
    """With the limit as it was: the runbook's own intervention may still be in force."""
    name, now = view.place.container, view.resources()
    own = now.containers[name]
    before = now.having(name, replace(own, limits={**own.limits, qos.CPU: limit_cores}))
    return [way.sentence for way in remedies(before, name, FACTOR * limit_cores)]
