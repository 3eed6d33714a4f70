"""Any external procedure as a step: a shell runbook, a script, an LLM agent.

    steps:
      - command:
          run: [./find-the-cause.sh]     # a path with a slash counts from the runbook's file
          time_limit_s: 120
          env: [MODEL_API_KEY]           # variables that are passed on; all others are not

The program has the operator's view (`operator_api.py`) over its standard input and output, and over HTTP on
loopback. It is told the SLO and the time limit, and nothing of the fault or the truth. How it talks is in
`command_process.py`. Its conclusion, its output and every call that it made are recorded; a replay judges the recorded
conclusion and does not run the program again.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from chaoslat.backends.base import Operator
from chaoslat.backends.operator_calls import outside
from chaoslat.model import Evidence, Finding, Outcome
from chaoslat.runbooks.base import Case, StepDef, StepParams
from chaoslat.runbooks.command_process import Order, run_program
from chaoslat.runbooks.operator_api import INTERVENTIONS

NAME = "command"
Cause = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,62}$")]
Words = Annotated[str, Field(max_length=2000)]


class CommandParams(StepParams):
    """`run`: program and arguments; `time_limit_s`: then it is killed and the step is inconclusive.

    `env`: names of environment variables that are passed on, besides PATH, LANG and TZ.
    """

    run: Annotated[list[str], Field(min_length=1, max_length=100)]
    time_limit_s: Annotated[float, Field(gt=0, le=3600)] = 120.0
    env: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    _folder: Path | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _remember_folder(self, info: ValidationInfo) -> CommandParams:
        self._folder = (info.context or {}).get("folder")
        return self

    @property
    def argv(self) -> list[str]:
        """With the program's path made absolute when it has a slash."""
        program = self.run[0]
        if "/" in program and self._folder is not None:
            program = str((self._folder / program).resolve())
        return [program, *self.run[1:]]


class Measured(BaseModel):
    """One figure behind a conclusion."""

    model_config = ConfigDict(extra="forbid")
    what: Words
    value: Annotated[float, Field(allow_inf_nan=False)]
    unit: Words = ""
    note: Words = ""


class Conclusion(BaseModel):
    """What a program concludes. No causes, and not inconclusive: nothing is wrong."""

    model_config = ConfigDict(extra="forbid")
    causes: Annotated[list[Cause], Field(max_length=10)] = []
    inconclusive: bool = False
    sentence: Words = ""
    evidence: Annotated[list[Measured], Field(max_length=100)] = []


async def run(case: Case, params: CommandParams) -> list[Finding]:
    """One finding a cause; one that clears, or stays open, where there is none."""
    told = await outside(case.operator, NAME, params.run, partial(_act, params, case))
    for what in _interventions(told["calls"]):
        case.intervene(what)
    case.note("command", {"run": params.run, **{key: told[key] for key in ("why", "exit_code", "took_s")}})
    return _findings(params, told)


async def _act(params: CommandParams, case: Case, operator: Operator, folder: Path | None) -> Any:
    order = Order(
        argv=params.argv,
        time_limit_s=params.time_limit_s,
        slo_ms=case.slo_ms,
        env=params.env,
        hide=() if folder is None else (folder,),
    )
    return await run_program(order, operator, case.progress)


def _interventions(calls: list[dict[str, Any]]) -> list[str]:
    """Each setting that was changed, once, with how often."""
    counts: dict[str, int] = {}
    for call in calls:
        if call["call"] in INTERVENTIONS and "error" not in call:
            what = INTERVENTIONS[call["call"]].format(*call["args"])
            counts[what] = counts.get(what, 0) + 1
    return [f"{what} ({count} times)" if count > 1 else what for what, count in counts.items()]


def _findings(params: CommandParams, told: dict[str, Any]) -> list[Finding]:
    if told["conclusion"] is None:
        return [_open(params, told, str(told["why"]))]
    try:
        conclusion = Conclusion.model_validate(told["conclusion"])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        return [_open(params, told, f"its conclusion makes no sense: {where}: {first['msg']}")]
    if conclusion.inconclusive:
        return [_open(params, told, conclusion.sentence or "it could not tell", conclusion)]
    causes = [cause for cause in dict.fromkeys(conclusion.causes) if cause != "none"]
    if not causes:
        sentence = conclusion.sentence or "nothing is wrong"
        return [_finding(params, told, Outcome.CLEARED, sentence, "", conclusion)]
    sentence = conclusion.sentence or f"it concluded {' + '.join(causes)}"
    return [_finding(params, told, Outcome.IMPLICATED, sentence, cause, conclusion) for cause in causes]


def _open(params: CommandParams, told: dict[str, Any], why: str, said: Conclusion | None = None) -> Finding:
    return _finding(params, told, Outcome.INCONCLUSIVE, why, "", said or Conclusion())


def _finding(
    params: CommandParams, told: dict[str, Any], outcome: Outcome, sentence: str, cause: str, said: Conclusion
) -> Finding:
    own = (Evidence(e.what, e.value, e.unit, e.note) for e in said.evidence)
    calls = Evidence("calls made by the program", float(len(told["calls"])), "calls", " ".join(params.run))
    return STEP.finding(
        outcome,
        sentence,
        *own,
        calls,
        settles=outcome is not Outcome.INCONCLUSIVE,
        interventions=tuple(_interventions(told["calls"])),
        cause=cause,
    )


STEP = StepDef(
    name=NAME,
    cause="",
    hypothesis="what does an external program conclude?",
    params=CommandParams,
    run=run,
)
