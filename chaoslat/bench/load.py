"""Bench of the load generator: a known answer, and its own scheduling lag.

A server stops for 100 ms every 937 ms. A request that is due `x` ms before the end of a stall takes `x` ms;
all others take next to nothing. So P(latency > x) = (100 - x) / 937 for Poisson arrivals: P95 is 53.15 and
P99 90.63 ms. The error is taken against the same arithmetic on the stalls that the server recorded, the time
that it then needed to answer each of those who had waited (which depends on the machine) and the due times
that the generator drew, which leaves no sampling error. Against the analytic values there is one: given their
number, Poisson arrivals are independent and uniform over the window, so the count beyond a value is binomial.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from chaoslat.bench.stall_server import HOST
from chaoslat.errors import ChaoslatError
from chaoslat.load import LoadConfig, LoadProcess, Requests, Shape, Workload, summarise
from chaoslat.load.log import Floats
from chaoslat.load.percentiles import percentile

PERIOD_MS, STALL_MS = 937.0, 100.0
BASELINE_S = 15.0
FOR_EVER_S = 1e9
ANSWER_S = 5.0
SETTLE_S = 1.0  # the connections are opened in the first stall
MARGIN_SIGMAS = 3.29  # 99.9 %
MAX_ERROR = 0.02
MAX_LAG_P99_MS = 1.0
MAX_LATE_SHARE = 0.01
MAX_RATE_ERROR = 0.005


@dataclass(frozen=True, slots=True)
class Quantile:
    """One percentile of the known-answer run, in ms. `error` is relative to `truth_ms`."""

    q: float
    analytic_ms: float
    truth_ms: float
    measured_ms: float
    error: float
    beyond_analytic: float
    """The fraction of requests over the analytic value; (100 - q) % is expected."""
    beyond_margin: float
    """Half the width of the 99.9 % interval of that fraction."""
    agrees: bool
    """Given that interval, the percentile may lie within 2 % of the analytic value."""

    @property
    def good(self) -> bool:
        return abs(self.error) <= MAX_ERROR and self.agrees


@dataclass(frozen=True, slots=True)
class Lag:
    """How late one way of waiting starts its requests, at one rate."""

    timer: str
    scheduling: str
    count: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    late_share: float


@dataclass(frozen=True, slots=True)
class LoadBench:
    """Result of `run`."""

    seed: int
    duration_s: float
    rate_rps: float
    quantiles: tuple[Quantile, ...]
    failed: int
    started_share: float
    """Requests that were started within the window over requests that were due in it."""
    rate_error: float
    """The drawn schedule's rate against the nominal one; its standard error is 1 / sqrt(count)."""
    lag: Lag
    baseline: Lag

    @property
    def lag_ratio(self) -> float:
        """Lag p99 of asyncio's own timers over that of the generator as it ships."""
        return self.baseline.p99_ms / self.lag.p99_ms

    @property
    def failures(self) -> tuple[str, ...]:
        """What misses its bound, in sentences; empty when all is good."""
        checks = {
            f"lag p99 {self.lag.p99_ms:.2f} ms is over {MAX_LAG_P99_MS:g}": self.lag.p99_ms > MAX_LAG_P99_MS,
            f"{self.lag.late_share:.2%} start more than 1 ms late": self.lag.late_share > MAX_LATE_SHARE,
            f"{self.started_share:.2%} of the due requests started": abs(self.started_share - 1)
            > MAX_RATE_ERROR,
        }
        checks[f"{self.failed} requests failed"] = self.failed > 0
        checks |= {f"P{each.q:g} is off": not each.good for each in self.quantiles}
        return tuple(sentence for sentence, missed in checks.items() if missed)


def run(*, periods: int = 48, rate_rps: float = 500.0, seed: int = 1) -> LoadBench:
    """Run the known-answer test over `periods` stalls, and the baseline for 15 s. Raises `ChaoslatError`."""
    return asyncio.run(_run(periods, rate_rps, seed))


async def _run(periods: int, rate_rps: float, seed: int) -> LoadBench:
    window_s = periods * PERIOD_MS / 1000
    with tempfile.TemporaryDirectory(prefix="chaoslat-bench-") as name:
        folder = Path(name)
        async with _stall_server() as server:
            baseline = await _baseline(server, folder, rate_rps, seed)
            config = _config(server.port, rate_rps, seed, window_s + 2 * SETTLE_S)
            load = await _load(config, folder / "load.log")
            stalls_ns = await server.finish()
        since_s = load.log.header.started_ns / 1e9 + SETTLE_S
        requests = load.log.between(since_s, since_s + window_s, FOR_EVER_S)
    return LoadBench(
        seed=seed,
        duration_s=window_s,
        rate_rps=rate_rps,
        quantiles=tuple(_quantile(q, requests, stalls_ns) for q in (95.0, 99.0)),
        failed=requests.failed,
        started_share=_started_share(requests, since_s + window_s),
        rate_error=len(requests) / window_s / rate_rps - 1,
        lag=_lag(load, requests),
        baseline=baseline,
    )


async def _baseline(server: _StallServer, folder: Path, rate_rps: float, seed: int) -> Lag:
    """The same load with asyncio's own loop and timers."""
    config = replace(_config(server.port, rate_rps, seed, BASELINE_S), engine="asyncio", timer="loop")
    load = await _load(config, folder / "baseline.log")
    return _lag(load, load.log.between(0.0, FOR_EVER_S, FOR_EVER_S))


def _config(port: int, rate_rps: float, seed: int, duration_s: float) -> LoadConfig:
    workload = Workload(rate_rps, (Shape("known", 1.0, "/{any}"),), rows=1000)
    return LoadConfig(HOST, port, workload, seed, duration_s=duration_s)


async def _load(config: LoadConfig, path: Path) -> LoadProcess:
    async with await LoadProcess.start(config, path) as load:
        await load.wait()
    return load


def true_latency_ms(due_s: Floats, answered_ms: Floats, stalls_ns: tuple[tuple[int, int], ...]) -> Floats:
    """What a request that was due then has to take: up to the end of the stall that it met, and from there to
    its answer (`answered_ms`, by the server's clock); 0 for one that met none."""
    begins_s, ends_s = np.array(stalls_ns).T / 1e9
    last = np.searchsorted(begins_s, due_s, side="right") - 1  # -1: before the first stall
    left_ms: Floats = np.where(last >= 0, (ends_s[last] - due_s) * 1000, 0.0)
    return np.where(left_ms > 0, left_ms + np.nan_to_num(answered_ms), 0.0)


def analytic_ms(q: float) -> float:
    """Percentile `q` of the latency by the formula above."""
    return STALL_MS - PERIOD_MS * (1 - q / 100)


def _quantile(q: float, requests: Requests, stalls_ns: tuple[tuple[int, int], ...]) -> Quantile:
    truth_ms = percentile(true_latency_ms(requests.due_s, requests.query_ms, stalls_ns), q)
    measured_ms = requests.percentile(q)
    expected = 1 - q / 100
    margin = MARGIN_SIGMAS * math.sqrt(expected * (1 - expected) / len(requests))
    low, high = (requests.over(analytic_ms(q) * (1 + side)) for side in (-MAX_ERROR, MAX_ERROR))
    return Quantile(
        q=q,
        analytic_ms=analytic_ms(q),
        truth_ms=truth_ms,
        measured_ms=measured_ms,
        error=measured_ms / truth_ms - 1,
        beyond_analytic=requests.over(analytic_ms(q)),
        beyond_margin=margin,
        agrees=low >= expected - margin and high <= expected + margin,
    )


def _started_share(requests: Requests, until_s: float) -> float:
    return float(np.mean(requests.due_s + requests.lag_ms / 1000 < until_s))


def _lag(load: LoadProcess, requests: Requests) -> Lag:
    header, summary = load.log.header, summarise(requests, 1.0)
    return Lag(
        timer=f"{header.engine}, {header.timer}",
        scheduling=header.scheduling,
        count=summary.count,
        p50_ms=summary.lag_p50_ms,
        p99_ms=summary.lag_p99_ms,
        max_ms=summary.lag_max_ms,
        late_share=summary.late_share,
    )


class _StallServer:
    """The stalling server, as a process of its own."""

    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self.port = port

    async def finish(self) -> tuple[tuple[int, int], ...]:
        """Stop it; the stalls that it made, as (begin, end) in CLOCK_MONOTONIC nanoseconds."""
        output, errors = await asyncio.wait_for(self._process.communicate(b""), ANSWER_S)
        if self._process.returncode != 0:
            raise ChaoslatError("the bench's server died", why=errors.decode(errors="replace").strip())
        return tuple((begin, end) for begin, end in json.loads(output)["stalls_ns"])


@asynccontextmanager
async def _stall_server() -> AsyncIterator[_StallServer]:
    command = (sys.executable, "-m", "chaoslat.bench.stall_server", str(PERIOD_MS), str(STALL_MS))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        assert process.stdout is not None
        port = int(json.loads(await process.stdout.readline())["port"])
        yield _StallServer(process, port)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def table(bench: LoadBench) -> str:
    """The result as text."""
    lines = [
        f"known answer: {bench.duration_s:.0f} s at {bench.rate_rps:g} requests/s, seed {bench.seed}",
        f"{'':6}{'analytic':>10}{'truth':>10}{'measured':>10}{'error':>8}   beyond the analytic value",
        *(_quantile_line(each) for each in bench.quantiles),
        f"started {bench.started_share:.3%} of the due; drew {bench.rate_error:+.2%}; {bench.failed} failed",
        "",
        f"{'start after due':22}{'priority':12}{'p50':>8}{'p99':>8}{'max':>8}{'> 1 ms':>9}",
        *(_lag_line(each) for each in (bench.lag, bench.baseline)),
        f"lag p99: {bench.lag_ratio:.1f} times lower",
    ]
    return "\n".join([*lines, *(f"MISSED: {failure}" for failure in bench.failures)])


def _quantile_line(each: Quantile) -> str:
    beyond = f"{each.beyond_analytic:.2%} ({1 - each.q / 100:.0%} ± {each.beyond_margin:.2%})"
    return (
        f"P{each.q:<5g}{each.analytic_ms:10.2f}{each.truth_ms:10.2f}{each.measured_ms:10.2f}"
        f"{each.error:8.2%}   {beyond}"
    )


def _lag_line(each: Lag) -> str:
    return (
        f"{each.timer:22}{each.scheduling:12}{each.p50_ms:8.3f}{each.p99_ms:8.3f}{each.max_ms:8.3f}"
        f"{each.late_share:9.3%}"
    )


def main() -> int:
    """`python -m chaoslat.bench.load`: 0 when every bound is kept."""
    parser = argparse.ArgumentParser(description="Known-answer test of the load generator")
    parser.add_argument("--periods", type=int, default=48, help="stalls of 937 ms to measure over")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    bench = run(periods=options.periods, seed=options.seed)
    print(json.dumps(asdict(bench), indent=1) if options.json else table(bench))
    return 1 if bench.failures else 0


if __name__ == "__main__":
    sys.exit(main())
