"""Tables and explanations for a terminal. Shared by the command line and the pytest plugin."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Literal

from chaoslat.model import Evidence, Finding, Ruling, Verdict
from chaoslat.report.machine import machine_line
from chaoslat.report.rows import COLUMNS, Row, score
from chaoslat.report.score_rows import Table

_STYLES = {Ruling.CORRECT: "green", Ruling.INVALID: "yellow", Ruling.INCONCLUSIVE: "yellow"}
UNLIMITED = 500  # wider than any table: for a file or a log
_RULING = 3  # its column; figures follow it


def table(rows: Sequence[Row], *, width: int = UNLIMITED, colour: bool = False) -> str:
    """The table of trials as text of at most `width` columns (a cell wraps when it must)."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    built = Table(box=None, pad_edge=False, header_style="bold")
    for index, name in enumerate(COLUMNS):
        justify: Literal["left", "right"] = "right" if index > _RULING else "left"
        built.add_column(name, justify=justify, overflow="fold", no_wrap=index >= _RULING)
    for row in rows:
        cells = [Text(cell) for cell in row.cells()]
        cells[_RULING].stylize(_STYLES.get(Ruling(row.ruling), "red"))
        built.add_row(*cells)
    sink = io.StringIO()
    Console(file=sink, width=width, force_terminal=colour, no_color=not colour, highlight=False).print(built)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines())


def grid(table: Table, *, width: int = UNLIMITED) -> str:
    """Any table of texts, plain; the first column to the left, the others too unless they are figures."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    built = RichTable(box=None, pad_edge=False)
    for index, name in enumerate(table.head):
        figures = all(_is_figure(row[index]) for row in table.rows)
        built.add_column(name, justify="right" if figures else "left", overflow="fold")
    for row in table.rows:
        built.add_row(*map(Text, row))
    sink = io.StringIO()
    Console(file=sink, width=width, no_color=True, highlight=False, markup=False).print(built)
    return "\n".join(line.rstrip() for line in sink.getvalue().splitlines())


def _is_figure(text: str) -> bool:
    return text.isdigit() or text in ("·", "-", "")


def closing(rows: Sequence[Row], *, out: str, seed: int) -> str:
    """The lines below the table: what was wrong, the score, where the recordings are, seed, machine."""
    wrong = [f"{row.experiment}: {row.ruling}: {row.reason}" for row in rows if not row.good]
    return "\n".join(
        [*wrong, score(rows), f"report:  {out}", f"seed:    {seed}", f"machine: {machine_line()}"]
    )


def explain(verdict: Verdict) -> str:
    """A verdict with each step's finding and the evidence behind it."""
    return f"{verdict.experiment}: {account(verdict)}"


def account(verdict: Verdict) -> str:
    """The same without the experiment's name: the headline comes first."""
    return "\n".join([headline(verdict), *_details(verdict)])


def headline(verdict: Verdict) -> str:
    """The ruling and why. An invalid trial says so first: it is no pass, and no fail of the runbook."""
    row = Row.of(verdict)
    if verdict.ruling in (Ruling.INVALID, Ruling.INCONCLUSIVE):
        return f"{verdict.ruling}: {verdict.reason.removeprefix(f'{verdict.ruling}, ')}"
    if verdict.ruling is Ruling.CORRECT:
        return f"correct: {verdict.reason}"
    return f"{verdict.ruling}: injected {row.injected}, diagnosed {row.diagnosed}. {verdict.reason}"


def _details(verdict: Verdict) -> Iterator[str]:
    row = Row.of(verdict)
    if verdict.injected:
        yield "  in force:  " + ", ".join(f"{name} {value}" for name, value in verdict.injected.items())
    if verdict.symptom:
        yield f"  symptom:   {_symptom(verdict)}"
    if verdict.diagnosis:
        yield f"  runbook:   {verdict.diagnosis.runbook}, {verdict.diagnosis.took_s:.1f} s"
        yield from findings(verdict.diagnosis.findings)
    yield f"  seed:      {row.seed}"
    yield f"  recording: {row.recording or '-'}"


def findings(found: Sequence[Finding]) -> Iterator[str]:
    """One line a step, then its evidence."""
    for finding in found:
        yield f"  step {finding.step}: {finding.outcome}: {finding.sentence}"
        yield from (f"      changed: {what}" for what in finding.interventions)
        yield from (f"      {_evidence(evidence)}" for evidence in finding.evidence)


def _evidence(evidence: Evidence) -> str:
    note = f" ({evidence.note})" if evidence.note else ""
    return f"{evidence.what}: {evidence.value:.4g} {evidence.unit}{note}"


def _symptom(verdict: Verdict) -> str:
    seen = verdict.symptom
    assert seen is not None
    return (
        f"p50 {seen.p50_ms:.1f}, p95 {seen.p95_ms:.1f}, p99 {seen.p99_ms:.1f} ms, {seen.over_slo:.1%} over the SLO, "
        f"{seen.count} requests, {seen.failed} failed"
    )
