"""Options on the command line and their twins in the ini file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KEEPS = ("never", "on-failure", "always")
_NO_SEED = ""
_TWINS = ("backend", "seed", "out", "keep", "runbook", "repeat", "report", "summary", "context", "namespace")
_MOST_REPEATS = 1000


def add(parser: pytest.Parser) -> None:
    """Add all options. An option on the command line beats its ini twin."""
    group = parser.getgroup("chaoslat", "fault-injection tests of diagnosis (chaoslat)")
    group.addoption("--chaos-backend", metavar="NAME", help="where the system runs (default: local)")
    group.addoption(
        "--chaos-context", metavar="NAME", help="kube: context of the kubeconfig (default: current)"
    )
    group.addoption(
        "--chaos-namespace",
        metavar="NAME",
        help="kube: a new namespace, or one that carries our label (default: one named after the run)",
    )
    group.addoption("--chaos-seed", metavar="N", help="seed of the session (default: a fresh one, printed)")
    group.addoption(
        "--chaos-out", metavar="DIR", help="folder of the recordings (default: chaos-out/TIME-SEED)"
    )
    group.addoption(
        "--chaos-keep", choices=KEEPS, help="keep the system when the session ends (default: never)"
    )
    group.addoption(
        "--chaos-runbook", metavar="NAME", help="use this runbook instead of each experiment's own"
    )
    group.addoption(
        "--chaos-repeat", metavar="N", help="run each experiment N times, in turns, with seeds of its own"
    )
    group.addoption(
        "--chaos-gate",
        metavar="TEXT",
        help="what the scores must reach, such as recall=0.9,false-alarms=5%%; trials that are wrong or inconclusive "
        "are then counted and not failed, and the gate decides; none: no gate (default: [tool.chaoslat] gate)",
    )
    group.addoption(
        "--chaos-report", metavar="FILE", help="write the HTML report of the session to this file"
    )
    group.addoption(
        "--chaos-summary",
        metavar="FILE",
        help="write a Markdown summary to this file; to $GITHUB_STEP_SUMMARY it is added",
    )
    parser.addini("chaos_backend", "twin of --chaos-backend", default="local")
    parser.addini("chaos_context", "twin of --chaos-context", default="")
    parser.addini("chaos_namespace", "twin of --chaos-namespace", default="")
    parser.addini("chaos_seed", "twin of --chaos-seed", default=_NO_SEED)
    parser.addini("chaos_out", "twin of --chaos-out", default="")
    parser.addini("chaos_keep", "twin of --chaos-keep", default="never")
    parser.addini("chaos_runbook", "twin of --chaos-runbook", default="")
    parser.addini("chaos_repeat", "twin of --chaos-repeat", default="1")
    parser.addini("chaos_report", "twin of --chaos-report", default="")
    parser.addini("chaos_summary", "twin of --chaos-summary", default="")
    parser.addini(
        "chaos_experiments",
        "directories (from the root directory) whose YAML files are experiments",
        type="args",
        default=["experiments"],
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say. `seed` None: a fresh one is drawn. `out` None: the default folder. `gate` None: the
    project's."""

    backend: str
    context: str
    namespace: str
    seed: int | None
    out: Path | None
    keep: str
    runbook: str | None
    repeat: int
    gate: str | None
    report: Path | None
    summary: Path | None
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, config: pytest.Config) -> Settings:
        """Raises pytest.UsageError for a value that makes no sense."""
        given = {name: _value(config, name) for name in _TWINS}
        return cls(
            backend=given["backend"],
            context=given["context"],
            namespace=given["namespace"],
            seed=_seed(given["seed"]),
            out=Path(given["out"]) if given["out"] else None,
            keep=_keep(given["keep"]),
            runbook=given["runbook"] or None,
            repeat=_repeat(given["repeat"]),
            gate=config.getoption("chaos_gate"),
            report=Path(given["report"]) if given["report"] else None,
            summary=Path(given["summary"]) if given["summary"] else None,
            folders=tuple(config.rootpath / folder for folder in config.getini("chaos_experiments")),
        )


def _value(config: pytest.Config, name: str) -> str:
    given = config.getoption(f"chaos_{name}")
    return str(config.getini(f"chaos_{name}") if given is None else given)


def _seed(text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit()):
        raise pytest.UsageError(f"--chaos-seed (chaos_seed): {text!r} is not a whole number from 0 on")
    return int(text) if text else None


def _repeat(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_REPEATS):
        raise pytest.UsageError(
            f"--chaos-repeat (chaos_repeat): {text!r} is not a whole number from 1 to {_MOST_REPEATS}"
        )
    return int(text)


def _keep(text: str) -> str:
    if text not in KEEPS:
        raise pytest.UsageError(f"--chaos-keep (chaos_keep): {text!r} is none of {', '.join(KEEPS)}")
    return text


def worker_input(config: pytest.Config) -> Mapping[str, Any] | None:
    """What the controller of pytest-xdist told this worker; None when this is no worker."""
    given: Mapping[str, Any] | None = getattr(config, "workerinput", None)
    return given
