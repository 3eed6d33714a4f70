"""`chaoslat diagnose`: run a runbook on a system that is up. Nobody knows the truth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Annotated

import typer

from chaoslat.cli import app as frame
from chaoslat.cli import diagnose_kube as kube
from chaoslat.cli import exits
from chaoslat.cli.output import Progress, print_result, progress
from chaoslat.experiment import DEFAULT_RUNBOOK, DEFAULT_SLO_MS, DEFAULT_WORKLOAD
from chaoslat.interruption import interruptible
from chaoslat.loop_thread import LoopThread
from chaoslat.model import Diagnosis
from chaoslat.report.terminal import findings
from chaoslat.runs import AttachedSystem

WARM_S = 12.0
"""Load before a diagnosis on a system that had none: the first step looks back at the symptom."""

Found = tuple[Diagnosis, tuple[str, ...]]

RunId = Annotated[
    str | None, typer.Argument(metavar="[RUN]", help="The run; may be left out when there is one.")
]
Slo = Annotated[float, typer.Option(min=1, max=60_000, help="The SLO of a request, in milliseconds.")]


@frame.command(frame.app, "diagnose")
def diagnose(
    run: RunId = None,
    slo_ms: Slo = DEFAULT_SLO_MS,
    runbook: frame.Runbook = None,
    seed: frame.Seed = None,
    as_json: frame.Json = False,
    backend: kube.WhichBackend = "",
    namespace: kube.Namespace = "default",
    workload: kube.Workload = "",
    url: kube.Url = "",
    container: kube.Container = "",
    context: kube.Context = "",
    kubeconfig: kube.Kubeconfig = None,
    rate: kube.Rate = 20.0,
    metrics: kube.Metrics = "",
    admin: kube.Admin = "",
    database: kube.Database = "",
    database_user: kube.User = "",
    tools_image: kube.ToolsImage = "",
    allow_interventions: kube.Allow = False,
    allow_node: kube.AllowNode = False,
    dry_run: kube.DryRun = False,
) -> int:
    """Look for the cause of the tail on a system that is up. The runbook's interventions are undone at the end.

    With --backend kube: on a workload of your own in a cluster; it is only looked at, unless interventions are allowed.

    Exit code 0 when it came to a conclusion (a cause, or none), 4 when it is inconclusive.
    """
    if backend == "kube":
        asked = kube.Asked(
            namespace=namespace,
            workload=workload,
            url=url,
            container=container,
            context=context,
            kubeconfig=kubeconfig,
            rate_rps=rate,
            metrics=metrics,
            admin=admin,
            database=database,
            user=database_user,
            tools_image=tools_image,
            allow=allow_interventions,
            allow_node=allow_node,
        )
        chosen, number = runbook or DEFAULT_RUNBOOK, frame.chosen_seed(seed)
        return kube.diagnose(asked, chosen, slo_ms, number, dry_run=dry_run, as_json=as_json)
    return _of_a_run(run, slo_ms, runbook, seed, as_json)


def _of_a_run(run: str | None, slo_ms: float, runbook: str | None, seed: int | None, as_json: bool) -> int:
    from chaoslat.ledger.lock import machine_lock
    from chaoslat.runs import kept_run

    run_id, number = kept_run(run), frame.chosen_seed(seed)
    thread = LoopThread()
    try:
        with progress() as show, interruptible(), machine_lock(run_id, "diagnose"):
            show(f"seed {number}, run {run_id}")
            found, advice = thread.call(
                _diagnose(run_id, runbook or DEFAULT_RUNBOOK, slo_ms, number, show), show
            )
    finally:
        thread.stop()
    beside = ["", *(f"  {line}" for line in advice)] if advice else []
    text = "\n".join([*findings(found.findings), *beside, "", kube.conclusion(found)])
    about = {"label": found.label, "run": run_id, "seed": number, "advice": list(advice)}
    print_result(asdict(found) | about, text, as_json=as_json)
    return exits.INVALID if found.inconclusive else exits.AS_EXPECTED


async def _diagnose(run_id: str, runbook: str, slo_ms: float, seed: int, show: Progress) -> Found:
    """The diagnosis, and what there is to say beside it."""
    from chaoslat.runbooks import diagnose as look
    from chaoslat.runbooks import load
    from chaoslat.runs import attach

    chosen = load(runbook)
    async with _attached(attach(run_id)) as system, _under_load(system, seed, show):
        try:
            found = await look(chosen, system.operator, slo_ms=slo_ms, seed=seed, progress=show)
            return found, await system.advice(found.causes)
        finally:
            show("undoing the runbook's interventions")
            await asyncio.shield(system.operator.undo_interventions())


@asynccontextmanager
async def _attached(system: AttachedSystem) -> AsyncIterator[AttachedSystem]:
    try:
        yield system
    finally:
        await system.close()


@asynccontextmanager
async def _under_load(system: AttachedSystem, seed: int, show: Progress) -> AsyncIterator[None]:
    """Give a system load for the time of the diagnosis when it has none of its own."""
    if "load" in system.info.pids:
        yield
        return
    show("the system has no load: starting one")
    await system.start_load(DEFAULT_WORKLOAD, seed, fresh_log(Path(system.info.folder)))
    try:
        await asyncio.sleep(WARM_S)
        yield
    finally:
        await system.stop_load()


def fresh_log(folder: Path) -> Path:
    """Where this diagnosis's load may write: a log is never written over."""
    names = (folder / f"diagnose-{number}.bin" for number in count(1))
    return next(path for path in names if not path.exists())
