"""The app's own telemetry: acquire time, query time, event-loop delay, garbage collection, heap."""

from __future__ import annotations

import math

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from chaoslat.errors import SystemLost
from chaoslat.model import AppMetrics
from chaoslat.probes.http import ask

MS_PER_S = 1000.0
LONGEST_DELAY = "event_loop_longest_delay_seconds"
Labels = tuple[tuple[str, str], ...]
Samples = dict[tuple[str, Labels], float]


async def app_metrics(session: aiohttp.ClientSession, url: str) -> AppMetrics:
    """One scrape of `url`. By hand: `curl URL/metrics`. Raises `SystemLost`.

    The event-loop delay is of the last full second: unlike a since-the-last-scrape gauge it is not spoilt by
    a second scraper.
    """
    where = f"{url}/metrics"
    return parse(await ask(session, "GET", where), where)


def parse(text: str, where: str = "") -> AppMetrics:
    """The Prometheus text as a value. Raises `SystemLost` when it is garbage or lacks a figure."""
    samples = _samples(text, where)

    def one(name: str, **labels: str) -> float:
        value = samples.get((name, tuple(sorted(labels.items()))), math.nan)
        if not math.isfinite(value):
            raise SystemLost(f"The app's metrics lack {name} {labels or ''}".rstrip(), where=where)
        return value

    pauses_s = sum(value for (name, _), value in samples.items() if name == "gc_pause_seconds_sum")
    return AppMetrics(
        acquire_count=int(one("db_pool_acquire_seconds_count")),
        acquire_sum_ms=one("db_pool_acquire_seconds_sum") * MS_PER_S,
        query_count=int(one("db_query_seconds_count")),
        query_sum_ms=one("db_query_seconds_sum") * MS_PER_S,
        loop_delay_p99_ms=one("event_loop_lag_seconds", window="second", stat="p99") * MS_PER_S,
        loop_delay_max_ms=one("event_loop_lag_seconds", window="second", stat="max") * MS_PER_S,
        gc_sum_ms=pauses_s * MS_PER_S,
        heap_bytes=int(one("process_memory_bytes", kind="heapUsed")),
        loop_seconds=int(samples.get((f"{LONGEST_DELAY}_count", ()), 0)),
        loop_longest_sum_ms=samples.get((f"{LONGEST_DELAY}_sum", ()), 0.0) * MS_PER_S,
    )


def _samples(text: str, where: str) -> Samples:
    try:
        families = list(text_string_to_metric_families(text))
    except Exception as error:  # the parser raises whatever its string handling meets
        raise SystemLost(
            "The app's metrics are not in Prometheus' text format", where=where, why=str(error)
        ) from error
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): float(sample.value)
        for family in families
        for sample in family.samples
    }
