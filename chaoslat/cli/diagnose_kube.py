"""`chaoslat diagnose --backend kube`: a runbook on somebody's workload in a cluster that exists."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from chaoslat.cli import exits
from chaoslat.cli.output import print_result, progress
from chaoslat.errors import UsageError
from chaoslat.interruption import interruptible
from chaoslat.loop_thread import LoopThread
from chaoslat.model import Diagnosis
from chaoslat.report.terminal import findings

if TYPE_CHECKING:  # the kubernetes client costs half a second
    from chaoslat.backends.kube.diagnosing import Patient
    from chaoslat.backends.kube.target import Target
    from chaoslat.ledger import Ledger

PASSWORD = "CHAOSLAT_DATABASE_PASSWORD"
Show = Callable[[str], None]

WhichBackend = Annotated[str, typer.Option("--backend", help="kube: a workload of your own in a cluster.")]
Namespace = Annotated[str, typer.Option(help="kube: where the workload is.")]
Workload = Annotated[str, typer.Option(metavar="KIND/NAME", help="kube: the workload, as deployment/NAME.")]
Url = Annotated[
    str,
    typer.Option(help="kube: plain http; asked at --rate to see the symptom. This is load on your workload."),
]
Container = Annotated[str, typer.Option(help="kube: which container of the pod, where there are several.")]
Context = Annotated[str, typer.Option(help="kube: context of the kubeconfig (default: the current one).")]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="kube: kubeconfig (default: $KUBECONFIG, else ~/.kube/config).")
]
Rate = Annotated[float, typer.Option(min=0.5, max=500.0, help="kube: requests per second for --url.")]
Metrics = Annotated[str, typer.Option(metavar="URL", help="kube: where the app's Prometheus metrics are.")]
Admin = Annotated[
    str, typer.Option(metavar="URL", help="kube: where GET and PUT /admin/pool show and set the pool's size.")
]
Database = Annotated[
    str,
    typer.Option(metavar="HOST:PORT/SCHEMA", help="kube: the database as the app knows it; --tools-image."),
]
User = Annotated[str, typer.Option(help=f"kube: login for no-op and statistics; password in ${PASSWORD}.")]
ToolsImage = Annotated[
    str,
    typer.Option(
        help="kube: image with ss and python3-pymysql for a debug container beside the app (it stays in the pod)."
    ),
]
Allow = Annotated[bool, typer.Option(help="kube: may change CPU limit and pool size; undone at the end.")]
AllowNode = Annotated[bool, typer.Option(help="kube: may ask the node's kubelet (cAdvisor) as well.")]
DryRun = Annotated[bool, typer.Option(help="kube: show what would be changed, and change nothing.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says; see `chaoslat.backends.kube.target.Target`."""

    namespace: str
    workload: str
    url: str
    container: str
    context: str
    kubeconfig: Path | None
    rate_rps: float
    metrics: str
    admin: str
    database: str
    user: str
    tools_image: str
    allow: bool
    allow_node: bool

    def target(self) -> Target:
        """Raises UsageError when something is missing without which nothing can be said."""
        from chaoslat.backends.kube.target import Target

        for option, value in (("--workload", self.workload), ("--url", self.url)):
            if not value:
                raise UsageError(f"--backend kube needs {option}", fix="chaoslat diagnose --help")
        made = Target(**asdict(self), password=os.environ.get(PASSWORD, ""))
        made.check()
        return made


def diagnose(asked: Asked, runbook: str, slo_ms: float, seed: int, *, dry_run: bool, as_json: bool) -> int:
    """Everything is undone when this returns or raises; a process that dies is undone by the reaper."""
    from chaoslat.backends.kube.diagnosing import open_patient
    from chaoslat.custody import MachineCustody
    from chaoslat.ledger import Ledger

    target, custody = asked.target(), MachineCustody()
    try:
        with progress() as show, interruptible():
            custody.enter("diagnose (kube)")
            run_id = custody.open_run()
            try:
                show(f"seed {seed}, run {run_id}")
                ledger = Ledger.open(run_id)
                patient = open_patient(target, ledger, show)
                about: dict[str, Any] = {"run": run_id, "seed": seed, "plan": patient.plan()}
                if dry_run:
                    patient.close()
                    print_result(about, _plan_text(about["plan"], target), as_json=as_json)
                    return exits.AS_EXPECTED
                found = _look(patient, ledger, runbook, slo_ms, seed, show, about)
            finally:
                custody.heal(run_id)
    finally:
        custody.leave()
    more = [*(f"  {line}" for line in about["cadvisor"]), *_remedy_text(about["remedies"])]
    text = "\n".join([*findings(found.findings), *more, "", conclusion(found)])
    print_result(asdict(found) | {"label": found.label} | about, text, as_json=as_json)
    return exits.INVALID if found.inconclusive else exits.AS_EXPECTED


def _look(
    patient: Patient,
    ledger: Ledger,
    runbook: str,
    slo_ms: float,
    seed: int,
    show: Show,
    about: dict[str, Any],
) -> Diagnosis:
    """The diagnosis; what is said beside it goes into `about`."""
    thread = LoopThread()
    try:
        if patient.target.allow:
            for line in patient.plan():
                show(f"may {line}" if not line.startswith("not here") else line)
        found = thread.call(_diagnose(patient, ledger, runbook, slo_ms, seed, show), show)
        about["remedies"], about["cadvisor"] = _remedies(found, patient), patient.crosscheck()
        return found
    finally:
        thread.stop()
        patient.close()


async def _diagnose(
    patient: Patient, ledger: Ledger, runbook: str, slo_ms: float, seed: int, show: Show
) -> Diagnosis:
    from chaoslat.backends.kube.diagnosing import promises_of
    from chaoslat.runbooks import diagnose as look
    from chaoslat.runbooks import load

    chosen = load(runbook)
    async with patient.operator(promises_of(ledger), seed, ledger.folder, show) as operator:
        return await look(chosen, operator, slo_ms=slo_ms, seed=seed, progress=show)


def _remedies(found: Diagnosis, patient: Patient) -> list[str]:
    """What can be done for good, where the CPU limit was found guilty or could not be cleared of throttling."""
    guilty = "cpu-throttling" in found.causes
    suspected = any(
        finding.step == "cpu-limit" and "throttles" in finding.sentence for finding in found.findings
    )
    return patient.remedies() if guilty or suspected else []


def _remedy_text(remedies: list[str]) -> list[str]:
    return (
        ["", "what can be done about the CPU limit:", *(f"  {line}" for line in remedies)] if remedies else []
    )


def _plan_text(plan: list[str], target: Target) -> str:
    allowed = "with --allow-interventions the runbook may, as far as its findings ask for it:"
    ends = "Nothing was changed. What is changed is written to the ledger first, and undone at the end."
    looks = f"asks {target.url} {target.rate_rps:g} times a second, and reads the CPU cgroup in the container"
    return "\n".join([f"read-only: {looks}", allowed, *(f"  {line}" for line in plan), ends])


def conclusion(found: Diagnosis) -> str:
    """The last line of a diagnosis."""
    missing = f" ({'; '.join(found.missing)})" if found.missing else ""
    return (
        f"diagnosis: {found.label}{missing}, {found.took_s:.1f} s, {found.intervention_count} interventions"
    )
