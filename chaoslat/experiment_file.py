"""From the text of an experiment file to an `Experiment`, or to a list of all that is wrong with it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from chaoslat.capabilities import CAPABILITIES
from chaoslat.errors import ChaoslatError
from chaoslat.experiment import CAUSES, DEFAULT_RUNBOOK, SUFFIXES, Experiment, Injection
from chaoslat.experiment_model import ExperimentModel
from chaoslat.faults import Fault, catalogue
from chaoslat.load.schedule import Workload
from chaoslat.model import NONE
from chaoslat.yaml_lines import BadFile, Document, Location, Problem, Unreadable, parse, read_text

FIX = "correct the file; `chaoslat list` shows faults and runbooks, `chaoslat schema` every key"
_SHOWN = 60
_SUBJECT = re.compile(r"^(Input|String|List|Dictionary|Value error,) ")
_Model = TypeVar("_Model", bound=BaseModel)


def read(path: Path) -> Experiment:
    """The experiment in `path`. Raises ExperimentError."""
    return check(read_text(path), str(path))


def check(text: str, path: str) -> Experiment:
    """The experiment in `text`, which came from `path`. Raises BadFile (an ExperimentError)."""
    try:
        document = parse(text)
    except Unreadable as error:
        raise BadFile(path, [error.problem], fix=FIX) from error
    return _Checker(document, path).experiment()


def known_causes(faults: Collection[Fault]) -> tuple[str, ...]:
    """The causes that an experiment may expect: ours, and those of the faults that are installed."""
    return tuple(dict.fromkeys((*CAUSES, *(fault.cause for fault in faults), NONE)))


class _Checker:
    """Collects every problem of one file, so that one look at the message mends them all."""

    def __init__(self, document: Document, path: str) -> None:
        self._document, self._path = document, path
        self._data: Any = document.data
        self._catalogue = catalogue()
        self._problems: list[Problem] = []

    def experiment(self) -> Experiment:
        if not isinstance(self._data, dict):
            self._add((), f"found {_shown(self._data)} where a mapping with keys is needed")
            raise self._bad()
        model = self._validated(ExperimentModel, self._data, ())
        faults = tuple(self._faults())
        self._check_expect()
        self._check_needs()
        self._check_runbook()
        workload = self._workload(model)
        if self._problems or model is None or workload is None:
            raise self._bad()
        return Experiment(
            name=model.name,
            expect=tuple(cause for cause in model.expect if cause != NONE),
            faults=faults,
            description=model.description.strip(),
            slo_ms=model.slo_ms,
            workload=workload,
            busy_connections=model.workload.busy_connections,
            symptom=model.symptom if faults or "symptom" in model.model_fields_set else "none",
            runbook=model.runbook,
            needs=tuple(model.needs),
            path=self._path,
        )

    def _bad(self) -> BadFile:
        return BadFile(self._path, sorted(self._problems, key=lambda problem: problem.line), fix=FIX)

    def _add(self, location: Location, says: str) -> None:
        self._problems.append(Problem(self._document.line_of(location), _dotted(location), says))

    def _validated(self, model: type[_Model], data: Any, base: Location) -> _Model | None:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self._add((*base, *detail["loc"]), _explain(detail, _fields_at(model, detail["loc"])))
            return None

    def _texts(self, key: str) -> list[tuple[Location, str]]:
        """The texts in a list; whatever else is there was refused by the model."""
        items = self._data.get(key)
        found = enumerate(items) if isinstance(items, list) else ()
        return [((key, index), item) for index, item in found if isinstance(item, str)]

    def _check_known(self, location: Location, item: str, kind: str, known: Collection[str]) -> bool:
        if item not in known:
            self._add(location, _unknown(kind, item, known))
        return item in known

    def _check_expect(self) -> None:
        causes = known_causes(self._catalogue.values())
        texts = self._texts("expect")
        for location, item in texts:
            self._check_known(location, item, "cause", causes)
        if len(texts) > 1 and any(item == NONE for _, item in texts):
            self._add(("expect",), "`none` stands alone: it says that no cause is to be found")
        if len({item for _, item in texts}) < len(texts):
            self._add(("expect",), "a cause is given twice")

    def _check_needs(self) -> None:
        for location, item in self._texts("needs"):
            self._check_known(location, item, "capability", CAPABILITIES)

    def _check_runbook(self) -> None:
        runbook = self._data.get("runbook", DEFAULT_RUNBOOK)
        if not isinstance(runbook, str) or runbook == DEFAULT_RUNBOOK:
            return
        if runbook.endswith(SUFFIXES):
            if not Path(runbook).is_file():
                self._add(("runbook",), f"there is no file {_shown(runbook)} (from here)")
            return
        from chaoslat import runbooks  # heavy (numpy, scipy), and seldom needed

        self._check_known(("runbook",), runbook, "runbook", runbooks.names())

    def _workload(self, model: ExperimentModel | None) -> Workload | None:
        try:
            return model.workload.workload() if model else None
        except ChaoslatError as error:
            self._add(("workload", "requests"), f"{error.what} ({error.where}); {error.fix}".rstrip("; "))
            return None

    def _faults(self) -> list[Injection]:
        items = self._data.get("faults")
        numbered = enumerate(items) if isinstance(items, list) else ()
        found = [self._fault(item, ("faults", index)) for index, item in numbered]
        good = [injection for injection in found if injection]
        if len({injection.fault for injection in good}) < len(good):
            self._add(("faults",), "a fault is given twice")
        return good

    def _fault(self, item: Any, location: Location) -> Injection | None:
        name, params = _name_and_params(item)
        if name is None:
            self._add(location, f"found {_shown(item)}; a fault is `name`, or `name: {{parameter: value}}`")
            return None
        if not self._check_known(location, name, "fault", self._catalogue):
            return None
        inner = (*location, name) if isinstance(item, dict) else location
        return self._injection(name, params, inner)

    def _injection(self, name: str, params: Any, location: Location) -> Injection | None:
        if not isinstance(params, dict):
            self._add(location, f"found {_shown(params)}; parameters are given as `{{parameter: value}}`")
            return None
        checked = self._validated(self._catalogue[name].params, params, location)
        return None if checked is None else Injection(name, checked.model_dump(exclude_unset=True))


def _name_and_params(item: Any) -> tuple[str | None, Any]:
    if isinstance(item, str):
        return item, {}
    if isinstance(item, dict) and len(item) == 1:
        ((name, params),) = item.items()
        return name, {} if params is None else params
    return None, None


def _fields_at(model: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys that are allowed beside the one at `location`."""
    here: Any = model
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        field = here.model_fields.get(part)
        here = _model_in(field.annotation) if field else None
        if here is None:
            return ()
    return tuple(here.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *getattr(annotation, "__args__", ()))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _explain(detail: ErrorDetails, allowed: tuple[str, ...]) -> str:
    if detail["type"] == "extra_forbidden":
        return _unknown("key", str(detail["loc"][-1]), allowed)
    if detail["type"] == "missing":
        return "this key is missing"
    return f"found {_shown(detail['input'])}; it {_SUBJECT.sub('', detail['msg'])}"


def _unknown(kind: str, item: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(item[:_SHOWN], known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"unknown {kind} {_shown(item)}{hint} (allowed: {', '.join(known) or 'none'})"


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


def _dotted(location: Location) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part[:_SHOWN]}" for part in location)
    return text.removeprefix(".")
