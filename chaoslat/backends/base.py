"""The protocols between a system and those who look at it or break it.

`Operator` is what an on-call engineer has, and all that a runbook ever gets. `Saboteur` is what only a fault has.
A backend is one module that makes systems; `local` teaches how to write another: implement `Backend`, add it to
the tuple in `chaoslat/backends/__init__.py` or as an entry point `chaoslat.backends`, and the contract tests
(tests/contract) run over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from chaoslat.load.log import LatencyLog, Requests
from chaoslat.load.schedule import Workload
from chaoslat.model import (
    AppMetrics,
    Cause,
    CgroupCpu,
    DbProcess,
    FreshConnect,
    MemoryCgroups,
    NodeCpu,
    NoopSample,
    PoolState,
    ReclaimResult,
    SocketInfo,
    StatementStats,
    Volume,
)

Progress = Callable[[str], None]
"""Called with one line for a human when a long step begins."""


@runtime_checkable
class Operator(Protocol):
    """What an on-call engineer can see and change. All times are CLOCK_MONOTONIC seconds.

    Probes are read-only. Interventions write their undo to the ledger first, may be repeated, and are undone by
    `undo_interventions`. Every method may raise `SystemLost`.
    """

    # time ------------------------------------------------------------------------------------------------
    def now_s(self) -> float: ...
    async def sleep(self, duration_s: float) -> None: ...

    # symptom: the edge's access log -----------------------------------------------------------------------
    async def requests(self, since_s: float, until_s: float) -> Requests:
        """Requests due in [since, until) as known now; unfinished ones count with their age."""
        ...

    # CPU limit ------------------------------------------------------------------------------------------
    async def app_cpu(self) -> tuple[CgroupCpu, ...]:
        """The app's own cgroup first, then every ancestor up to the root."""
        ...

    async def set_cpu_quota(self, path: str, quota_us: int | None) -> None:
        """Set the CFS quota of a cgroup that `app_cpu` showed; None lifts it. Re-issuing is harmless."""
        ...

    # connection pool --------------------------------------------------------------------------------------
    async def pool(self) -> PoolState: ...
    async def set_pool_size(self, size: int) -> PoolState: ...
    async def app_metrics(self) -> AppMetrics: ...

    # network path -----------------------------------------------------------------------------------------
    async def sockets(self) -> tuple[SocketInfo, ...]:
        """The app's established sockets towards its database address, seen from its network namespace."""
        ...

    async def fresh_connect(self) -> FreshConnect: ...
    async def noop(self, count: int) -> NoopSample:
        """`count` no-op statements (at most 20 ms apart) over one connection of a prober process beside the app."""
        ...

    # database and node ------------------------------------------------------------------------------------
    async def statements(self) -> tuple[StatementStats, ...]:
        """The app's statements (its schema), by digest."""
        ...

    async def db_process(self) -> DbProcess: ...
    async def memory_cgroups(self) -> MemoryCgroups: ...
    async def node_cpu(self) -> NodeCpu: ...
    async def volumes(self) -> tuple[Volume, ...]:
        """Memory-backed (tmpfs) pod volumes on the node."""
        ...

    async def reclaim(self, path: str, bound_s: float) -> ReclaimResult:
        """Empty a memory cgroup (v1 force_empty, v2 memory.reclaim); interrupted after `bound_s`."""
        ...

    async def remove_volume(self, path: str) -> None:
        """Remove a volume whose owner is gone. Raises ChaoslatError when the owner is alive. Cannot be undone."""
        ...

    async def undo_interventions(self) -> None: ...


@runtime_checkable
class Saboteur(Protocol):
    """What only a fault may do. Each setter writes its undo to the ledger (fsync) before it acts.

    Getters read the running system back, never a cached wish.
    """

    async def cpu_quota_us(self) -> int | None: ...
    async def set_cpu_quota(self, quota_us: int | None) -> None:
        """CFS quota of the app's cgroup; None removes it."""
        ...

    async def restore_cpu_quota(self) -> None:
        """Back to the quota before this saboteur's first change; nothing happens when it changed nothing."""
        ...

    async def cpu_usage_s(self) -> float:
        """CPU that the app's cgroup has used since its creation."""
        ...

    async def pool_size(self) -> int: ...
    async def set_pool_size(self, size: int) -> None: ...
    async def restore_pool_size(self) -> None:
        """Back to the size before this saboteur's first change; nothing happens when it changed nothing."""
        ...

    async def toxics(self) -> dict[str, dict[str, float]]:
        """Toxics on the app -> database proxy: name -> attributes."""
        ...

    async def set_latency(self, latency_ms: float, jitter_ms: float = 0.0) -> None:
        """A latency toxic (downstream) on the app -> database path; 0 removes it."""
        ...

    async def leaked_cgroups(self) -> int: ...
    async def leak_cgroups(self, count: int) -> None:
        """Leak `count` more dying memory cgroups under the limited parent of the database."""
        ...

    async def unleak_cgroups(self) -> None: ...
    async def warm(self) -> None:
        """Bring the database's page cache to its normal state: full up to the memory limit."""
        ...

    async def snapshot(self) -> dict[str, str]:
        """All that a fault may touch, as read from the system: equal before injection and after undo."""
        ...


@runtime_checkable
class Decoys(Protocol):
    """What only a decoy may do, on a backend that can; `decoys_of` finds it. The rules are those of a saboteur.

    `place`: `app`, `database` (the server's cgroup) or `pods` (the parent of all pods). Every `restore` and `stop`
    may be called twice, or without a change.
    """

    async def quota_us(self, place: str) -> int | None: ...
    async def usage_s(self, place: str) -> float:
        """CPU used by that cgroup and all below it since its creation."""
        ...

    async def set_quota(self, place: str, quota_us: int | None) -> None: ...
    async def restore_quota(self, place: str) -> None: ...

    async def burners(self) -> int:
        """CPU burners that are alive."""
        ...

    async def start_burners(
        self, count: int, *, beside_app: bool, nice: int, on_s: float, off_s: float
    ) -> None:
        """Processes that compute for `on_s`, then rest for `off_s`: each a pod of its own, or in the app's cgroup."""
        ...

    async def stop_burners(self) -> None: ...

    async def statement_delay_ms(self) -> float:
        """What the server waits in the app's statement on customers, as its schema says; 0 at rest."""
        ...

    async def set_statement_delay(self, delay_ms: float, every: int = 1) -> None:
        """`every`: only the statements about one customer in so many wait."""
        ...

    async def restore_statement(self) -> None: ...

    async def lock_holders(self) -> int:
        """Sessions of ours that lock a table in turns."""
        ...

    async def start_lock(self, held_ms: float, free_ms: float) -> None:
        """Another session locks the table of customers for `held_ms`, frees it for `free_ms`, and so on."""
        ...

    async def stop_lock(self) -> None: ...

    async def report(self) -> tuple[int, int]:
        """(block_ms, every_ms) of the report that the app renders in its event loop; zeros when it renders none."""
        ...

    async def set_report(self, block_ms: int, every_ms: int) -> None:
        """Have the app render for `block_ms` every `every_ms`, synchronously."""
        ...

    async def stop_report(self) -> None: ...

    async def held(self) -> int:
        """Connections of the app's pool that a part of it has taken and does not give back."""
        ...

    async def hold(self, connections: int) -> None: ...
    async def let_go(self) -> None: ...

    async def detours(self) -> int:
        """Detours of ours on the way from proxy to database."""
        ...

    async def set_detour(self, delay_ms: float) -> None:
        """Delay the packets of all connections, half of it each way; in the place of one that is there."""
        ...

    async def end_detour(self) -> None: ...
    async def handshake_ms(self) -> float:
        """How long a new connection from the proxy's side to the database takes."""
        ...


def decoys_of(saboteur: object) -> Decoys | None:
    """A saboteur's means for decoys, its attribute `decoys`; None on a backend that has none."""
    found = getattr(saboteur, "decoys", None)
    return found if isinstance(found, Decoys) else None


@dataclass(frozen=True, slots=True)
class SystemInfo:
    """What `chaoslat status --json` shows."""

    run_id: str
    backend: str
    folder: str
    url: str
    pids: dict[str, int]
    cgroups: dict[str, str]
    ports: dict[str, int]
    namespaces: dict[str, str]
    versions: dict[str, str]
    access: dict[str, str] = field(default_factory=dict)  # what else gets one in: a kubeconfig


@runtime_checkable
class System(Protocol):
    """One running system under test."""

    @property
    def info(self) -> SystemInfo: ...
    @property
    def operator(self) -> Operator: ...
    @property
    def saboteur(self) -> Saboteur: ...
    @property
    def log(self) -> LatencyLog: ...

    async def start_load(self, workload: Workload, seed: int, out: Path) -> None:
        """Start the load generator as its own process; its log is written to `out`."""
        ...

    async def set_rate(self, rate_rps: float) -> None:
        """Change the arrival rate of the load that runs. Raises ChaoslatError when none runs."""
        ...

    async def stop_load(self) -> None: ...
    async def check(self) -> tuple[str, ...]:
        """What is wrong with the system now, settings that are not at rest included; empty when it is healthy."""
        ...

    async def lost(self) -> tuple[str, ...]:
        """The parts that have died, in sentences; a fault in force is no loss."""
        ...

    async def advice(self, causes: tuple[Cause, ...]) -> tuple[str, ...]:
        """What there is to say beside the finding of these causes: other sources, and what could be done for good."""
        ...

    async def destroy(self) -> None:
        """Stop and remove everything that was created. May be called twice."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Makes systems."""

    name: str

    async def create(self, run_id: str, progress: Progress) -> System: ...
