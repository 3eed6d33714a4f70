"""Frozen values that pass between rooms: what a probe measured, what a step found, what a trial was worth.

Every value is a plain frozen dataclass of JSON types (tuples for lists), so that a recording holds it whole.
Counters are cumulative, as the kernel and MySQL give them; a caller takes differences of two readings.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

Cause = str
"""`cpu-throttling`, `pool-wait`, `network-path`, `database`, `node-memory-cgroups`; a runbook may add others."""

NONE: Cause = "none"


class Outcome(StrEnum):
    """What a step says of its hypothesis."""

    IMPLICATED = "implicated"
    CLEARED = "cleared"
    INCONCLUSIVE = "inconclusive"
    NOTED = "noted"  # a step that tests no cause (step 0)


class Ruling(StrEnum):
    """What a trial was worth. `INVALID` counts neither for nor against the runbook."""

    CORRECT = "correct"
    MISATTRIBUTED = "misattributed"
    MISSED = "missed"
    FALSE_ALARM = "false alarm"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"


# --- what probes measure ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CgroupCpu:
    """CPU bandwidth of one cgroup: its setting, and its counters since creation."""

    path: str
    quota_us: int | None  # None: no limit
    period_us: int
    periods: int
    throttled_periods: int
    throttled_s: float
    usage_s: float

    @property
    def limit_cores(self) -> float | None:
        return None if self.quota_us is None else self.quota_us / self.period_us


@dataclass(frozen=True, slots=True)
class PoolState:
    """The app's connection pool at one instant."""

    max: int
    open: int
    in_use: int
    waiting: int


@dataclass(frozen=True, slots=True)
class AppMetrics:
    """The app's own telemetry (Prometheus): cumulative sums and the event-loop delay of the last full second."""

    acquire_count: int
    acquire_sum_ms: float
    query_count: int
    query_sum_ms: float
    loop_delay_p99_ms: float
    loop_delay_max_ms: float
    gc_sum_ms: float
    heap_bytes: int
    loop_seconds: int = (
        0  # full seconds of which the longest event-loop delay is known; 0: the app does not say
    )
    loop_longest_sum_ms: float = 0.0  # the sum of those


@dataclass(frozen=True, slots=True)
class SocketInfo:
    """tcp_info of one established socket, as `ss -ti` shows it."""

    local: str
    peer: str
    rtt_ms: float
    rttvar_ms: float
    minrtt_ms: float
    cwnd: int
    retrans: int


@dataclass(frozen=True, slots=True)
class FreshConnect:
    """A new TCP connection from the app's network namespace: handshake time and the kernel's minrtt of it."""

    target: str
    connect_ms: float
    minrtt_ms: float


@dataclass(frozen=True, slots=True)
class NoopSample:
    """Round trips of a no-op statement from a prober beside the app, and the server's own time for it."""

    round_trip_ms: tuple[float, ...]
    server_mean_ms: float


@dataclass(frozen=True, slots=True)
class StatementStats:
    """One statement digest on the server: cumulative count and times."""

    digest_text: str
    count: int
    wait_ms: float
    lock_ms: float
    cpu_ms: float
    errors: int


@dataclass(frozen=True, slots=True)
class DbProcess:
    """The database's process and memory cgroup: cumulative CPU, and pressure at the limit that binds it."""

    user_s: float
    system_s: float
    cpu: tuple[CgroupCpu, ...]
    limited_path: (
        str  # of the cgroups, own and above, with a memory limit the one that binds; "" when there is none
    )
    limit_bytes: int | None
    usage_bytes: int
    limit_hits: int  # v1 memory.failcnt, v2 memory.events max
    shmem_bytes: int
    cache_bytes: int


@dataclass(frozen=True, slots=True)
class MemoryCgroups:
    """Memory cgroups on the node. Dying: removed by name but still charged."""

    live: int
    dying: int


@dataclass(frozen=True, slots=True)
class Volume:
    """A memory-backed volume left on the node; `owner_alive` says whether its pod still has a cgroup."""

    path: str
    files: int
    used_bytes: int
    owner_alive: bool


@dataclass(frozen=True, slots=True)
class ReclaimResult:
    """A bounded attempt to empty a memory cgroup."""

    path: str
    took_s: float
    finished: bool
    dying_before: int
    dying_after: int


@dataclass(frozen=True, slots=True)
class NodeCpu:
    """The node's CPU since boot, in seconds over all cores."""

    busy_s: float
    idle_s: float
    steal_s: float
    cores: int


# --- what a runbook says ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Evidence:
    """One figure behind a finding: what was measured, in words and as a number.

    The value is kept to nine significant digits: more than a measurement is worth, and fewer than
    those in which two CPUs add the same figures up differently, so that a recording that is judged
    again says the same on every machine.
    """

    what: str
    value: float
    unit: str
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(f"{self.value:.9g}"))


@dataclass(frozen=True, slots=True)
class Finding:
    """What one step concluded, in a sentence, with its figures."""

    step: str
    hypothesis: str
    outcome: Outcome
    cause: Cause  # the cause that this step tests; "" where it tests none
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    interventions: tuple[str, ...] = ()
    settles: bool = (
        False  # the SLO came back with this intervention, or the budget accounts for the whole tail
    )
    started_s: float = 0.0
    took_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a runbook concluded. `causes` empty and `missing` empty means: none."""

    runbook: str
    causes: tuple[Cause, ...]
    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()  # not empty: inconclusive, because ...
    took_s: float = 0.0
    intervention_count: int = 0

    @property
    def inconclusive(self) -> bool:
        return bool(self.missing) and not self.causes

    @property
    def label(self) -> str:
        """`cpu-throttling + pool-wait`, `none` or `inconclusive`."""
        if self.causes:
            return " + ".join(self.causes)
        return "inconclusive" if self.missing else NONE


# --- what a trial says -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Symptom:
    """The latency of one window against the SLO."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    max_ms: float
    over_slo: float  # fraction
    failed: int
    rate_rps: float
    lag_p99_ms: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The end of a trial."""

    experiment: str
    truth: tuple[Cause, ...]
    ruling: Ruling
    reason: str
    diagnosis: Diagnosis | None = None
    symptom: Symptom | None = None
    injected: dict[str, str] = field(default_factory=dict)
    seed: int = 0
    backend: str = ""
    seconds_to_diagnosis_s: float | None = None
    trial_s: float = 0.0
    folder: str = ""
    recovered: bool = True  # undo read back equal, and the load back within the SLO
