"""One recorded trial, as the report tells it. A part that the recording lacks is left out, and said so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chaoslat.errors import ChaoslatError
from chaoslat.load.log import Bools, LatencyLog, Requests
from chaoslat.model import Verdict
from chaoslat.recording import EVENTS, LATENCIES, OPERATOR, OUTSIDE, TRIAL, read_rows, read_trial
from chaoslat.report.html import phases as course
from chaoslat.report.html.levers import Call, Instant, Lever, Span, instants, levers
from chaoslat.report.html.phases import Event, Phase, in_force, phases

SETTLE_S = 1.0  # after a change that was made once and not in blocks, the first second is left out
_MARGIN_S = 0.5


@dataclass(frozen=True, slots=True)
class Sides:
    """Requests with a setting as it was found, and with it changed."""

    factor: str
    label: str
    at_s: float  # of the first change
    how: str  # "randomised blocks" or "before and after"
    original: Requests
    changed: Requests
    blocks: tuple[int, int]  # of each side; 0 where there were none


@dataclass(frozen=True, slots=True)
class Story:
    """Everything that the report shows of one trial. `requests` is None where no latency log is recorded."""

    verdict: Verdict
    about: dict[str, Any]
    events: tuple[Event, ...]
    requests: Requests | None
    start_s: float
    end_s: float
    phases: tuple[Phase, ...]
    faults: tuple[tuple[str, Span], ...]
    levers: tuple[Lever, ...]
    instants: tuple[Instant, ...]
    programs: tuple[dict[str, Any], ...]  # what external programs asked and said
    lacking: tuple[str, ...]

    @property
    def slo_ms(self) -> float:
        return float(self.about.get("slo_ms", float("nan")))

    @property
    def setting(self) -> tuple[Span, ...]:
        """When the fault's level was being searched: it is there, and not yet as it will be."""
        return tuple(phase.span for phase in self.phases if phase.name == course.INJECTION)

    @property
    def blocks(self) -> tuple[Event, ...]:
        return tuple(event for event in self.events if event.get("event") == "block")

    @property
    def advice(self) -> tuple[str, ...]:
        """What was said beside the diagnosis: other sources, and what could be done for good."""
        return tuple(str(event["sentence"]) for event in self.events if event.get("event") == "advice")

    def phase(self, name: str) -> Requests | None:
        """The requests that were due in a phase; None where it was not reached or nothing is recorded."""
        span = next((phase.span for phase in self.phases if phase.name == name), None)
        return None if span is None or self.requests is None else within(self.requests, [span])

    @property
    def sides(self) -> tuple[Sides, ...]:
        """The two sides of each setting that was changed."""
        return () if self.requests is None else _sides(self, self.requests)


def tell(verdict: Verdict) -> Story:
    """The story of a verdict that was read from its recording."""
    folder = Path(verdict.folder)
    lacking: list[str] = []
    about = read_trial(folder) if (folder / TRIAL).is_file() else {}
    events = tuple(_rows(folder / EVENTS, lacking))
    calls = _rows(folder / OPERATOR, lacking)
    end_s = max((float(event["at_s"]) for event in events), default=0.0)
    requests = _requests(folder / LATENCIES, end_s, lacking)
    start_s = _start_s(requests, events)
    return Story(
        verdict=verdict,
        about=about,
        events=events,
        requests=requests,
        start_s=start_s,
        end_s=max(end_s, start_s),
        phases=phases(events, start_s, faults=bool(about.get("faults"))),
        faults=in_force(events),
        levers=_levers(calls, events, end_s),
        instants=instants(calls),
        programs=tuple(c["answer"] for c in calls if c.get("call") == OUTSIDE and c.get("answer")),
        lacking=tuple(lacking),
    )


def _levers(calls: Sequence[Call], events: Sequence[Event], end_s: float) -> tuple[Lever, ...]:
    """What the runbook left changed is put back when the diagnosis is over."""
    return levers(calls, course.last(events, "diagnosis", "invalid", "broken off") or end_s)


def _rows(path: Path, lacking: list[str]) -> list[dict[str, Any]]:
    try:
        return read_rows(path)
    except ChaoslatError:
        lacking.append(path.name)
        return []


def _requests(path: Path, end_s: float, lacking: list[str]) -> Requests | None:
    try:
        requests = LatencyLog(path).between(0.0, end_s, end_s)
    except ChaoslatError:
        lacking.append(path.name)
        return None
    return requests if len(requests) else None


def _start_s(requests: Requests | None, events: Sequence[Event]) -> float:
    if requests is not None:
        return float(requests.due_s[0])
    return min((float(event["at_s"]) for event in events), default=0.0)


def within(requests: Requests, spans: Sequence[Span]) -> Requests:
    """Those that were due in one of the spans."""
    mask: Bools = np.zeros(len(requests), dtype=bool)
    for span in spans:
        mask |= (requests.due_s >= span.start_s) & (requests.due_s < span.end_s)
    return requests.select(mask)


def _sides(story: Story, requests: Requests) -> tuple[Sides, ...]:
    blocks = [block for block in story.blocks if not block.get("void")]
    factors = list(dict.fromkeys(name for block in blocks for name in block.get("settings", {})))
    labels = {lever.factor: lever.label for lever in story.levers}
    found = [_of_blocks(factor, labels.get(factor, factor), blocks, requests) for factor in factors]
    once = [lever for lever in story.levers if lever.factor not in factors]
    found += [_before_after(story, lever, requests) for lever in (*once, *_for_good(story))]
    return tuple(sides for sides in found if len(sides.original) and len(sides.changed))


def _for_good(story: Story) -> list[Lever]:
    """What was done once and stays done, as levers that were never put back."""
    end_s = max((p.span.end_s for p in story.phases if p.name == course.DIAGNOSIS), default=story.end_s)
    first = {instant.label: instant.at_s for instant in reversed(story.instants)}
    return [Lever(label, label, (Span(at_s, max(at_s, end_s)),)) for label, at_s in first.items()]


def _of_blocks(factor: str, label: str, blocks: Sequence[Event], requests: Requests) -> Sides:
    spans: dict[bool, list[Span]] = {False: [], True: []}
    for block in blocks:
        if factor in block["settings"]:
            span = Span(float(block["start_s"]), float(block["end_s"]))
            spans[bool(block["settings"][factor])].append(span)
    original, changed = within(requests, spans[False]), within(requests, spans[True])
    at_s = min((span.start_s for span in spans[True]), default=0.0)
    counts = (len(spans[False]), len(spans[True]))
    return Sides(factor, label, at_s, "randomised blocks", original, changed, counts)


def _before_after(story: Story, lever: Lever, requests: Requests) -> Sides:
    """From the beginning of the diagnosis until the change, and from a second after it until the next one."""
    diagnosis = next((p.span for p in story.phases if p.name == course.DIAGNOSIS), Span(0.0, 0.0))
    first = lever.changed[0]
    others = [other.changed[0].start_s for other in (*story.levers, *_for_good(story))]
    earlier = [at_s + SETTLE_S for at_s in others if at_s < first.start_s - _MARGIN_S]
    later = [at_s for at_s in others if at_s > first.start_s + _MARGIN_S]
    before = Span(max([diagnosis.start_s, *earlier]), first.start_s)
    after = Span(first.start_s + SETTLE_S, min([first.end_s, *later]))
    seen = within(requests, [before]), within(requests, [after])
    return Sides(lever.factor, lever.label, first.start_s, "before and after", *seen, blocks=(0, 0))
