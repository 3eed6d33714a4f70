"""The pytest plugin (entry point `pytest11`): experiments as tests, fixtures, options, and a table at the end.

A chaos item (an experiment, or a Python test with the mark `chaos` or one of our fixtures) runs only when `-m` on
the command line asks for it; see `plugin/asked.py`. In a project that does not use chaoslat the plugin registers
its mark and options, and does nothing else. Importing this module is cheap: what costs time is imported by the
first trial.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.plugin import options
from chaoslat.plugin.asked import MARK, asks_for_chaos
from chaoslat.plugin.fixtures import NAMES, ChaosSystem, ChaosTrial
from chaoslat.plugin.items import ExperimentFile, ExperimentItem, in_turns, is_candidate, is_experiment
from chaoslat.plugin.options import worker_input
from chaoslat.plugin.state import STATE, VERDICTS, WORKER_KEY, State

if TYPE_CHECKING:
    from chaoslat.session import Session

_PARSER = "chaoslat-parser"
_ROWS = "chaoslat_rows"
_HOW = "ask for it with -m chaos on the command line"


class _ParserHolder:
    """Hands pytest's parser from the hook that gets it to the hook that needs it."""

    def __init__(self, parser: pytest.Parser) -> None:
        self.parser = parser


# start ------------------------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    options.add(parser)
    pluginmanager.register(_ParserHolder(parser), _PARSER)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "chaos: injects a real fault; runs only when -m on the command line asks for it (chaoslat)"
    )
    holder = config.pluginmanager.get_plugin(_PARSER)
    assert isinstance(holder, _ParserHolder)
    config.stash[STATE] = State(config, holder.parser)


def pytest_report_header(config: pytest.Config) -> list[str]:
    state = config.stash[STATE]
    if not state.asked or worker_input(config) is not None:
        return []
    runbook = state.settings.runbook or "of each experiment"
    about = f"backend {state.settings.backend}, seed {state.seed}, runbook {runbook}"
    return [f"chaoslat: {about}, recordings {state.shown_out}"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Refuse what cannot give a valid latency."""
    if len(specs) > 1 and config.stash[STATE].asked:
        raise pytest.UsageError(
            f"chaos items were asked for with {len(specs)} pytest-xdist workers, and are refused: "
            "trials that run side by side disturb each other's latencies. Use -n 0 or -n 1."
        )


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """A worker does not see the command line; tell it what was asked for."""
    node.workerinput[WORKER_KEY] = node.config.stash[STATE].for_worker()


# collection -------------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ExperimentFile | None:
    state = parent.config.stash[STATE]
    if is_experiment(file_path, state.settings.folders):
        return ExperimentFile.from_parent(parent, path=file_path)
    if state.asked and is_candidate(file_path, state.settings.folders):
        # It may be another tool's file, or an experiment whose first line is damaged: said, and not run.
        shown = os.path.relpath(file_path, parent.config.rootpath)
        state.notes.append(f"not an experiment: {shown} (no line `apiVersion: chaoslat/v1`)")
    return None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, object, object]:
    """Mark users of our fixtures before `-m` is applied; deselect what was not asked for after all others."""
    for item in items:
        if NAMES & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARK)
    result = yield
    unasked = [item for item in items if _unasked(item)]
    if unasked:
        config.hook.pytest_deselected(items=unasked)
        left_out = set(unasked)
        items[:] = [item for item in items if item not in left_out]
        config.stash[STATE].notes.append(f"chaos items not run: {len(unasked)}; {_HOW}")
    in_turns(items)
    config.stash[STATE].expects_trials = not config.option.collectonly and any(map(_runs_trials, items))
    return result


def _runs_trials(item: pytest.Item) -> bool:
    return isinstance(item, ExperimentItem) or "chaos_trial" in getattr(item, "fixturenames", ())


def _unasked(item: pytest.Item) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    return MARK in marks and not asks_for_chaos(item.config.stash[STATE].expression, marks)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A second lock: whatever another plugin did to the items, one that was not asked for does not run."""
    if _unasked(item):
        pytest.skip(f"injects a fault and was not asked for; {_HOW}")


# fixtures ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def _chaos_session(request: pytest.FixtureRequest) -> Session:
    """The chaoslat session; closed when pytest's session ends."""
    state = request.config.stash[STATE]
    if not state.asked:
        pytest.fail(f"this test would inject a fault and was not asked for; {_HOW}", pytrace=False)
    try:
        return state.session()
    except ChaoslatError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def chaos_system(_chaos_session: Session) -> ChaosSystem:
    """The session's system, healthy; created by the first test that uses it."""
    try:
        _chaos_session.system()
    except ChaoslatError as error:
        pytest.fail(str(error), pytrace=False)
    return ChaosSystem(_chaos_session)


@pytest.fixture
def chaos_trial(request: pytest.FixtureRequest, _chaos_session: Session) -> ChaosTrial:
    """Runs trials: `chaos_trial("cpu-limit")`, or `await chaos_trial.run("cpu-limit")`."""
    return ChaosTrial(request.node, request.config.stash[STATE])


# report -----------------------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the rows of the item's trials in plain values, so that they reach the controller of pytest-xdist."""
    report = yield
    if call.when == "call" and VERDICTS in item.stash:
        from chaoslat.report.rows import Row

        report.__dict__[_ROWS] = [Row.of(verdict).to_json() for verdict in item.stash[VERDICTS]]
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remove the system (or keep it) while the result can still change: one that cannot be removed is a failure.

    So is a gate that was missed.
    """
    state = session.config.stash[STATE]
    try:
        state.close()
    except ChaoslatError as error:
        state.notes.append(f"the system was not removed: {error}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if state.failed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if worker_input(session.config) is not None:
        told = {"notes": state.notes, "failed": state.failed}
        session.config.workeroutput[WORKER_KEY] = told  # type: ignore[attr-defined]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    told = getattr(node, "workeroutput", {}).get(WORKER_KEY, {})
    state = node.config.stash[STATE]
    state.notes += told.get("notes", [])
    state.failed = state.failed or told.get("failed", False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    state = config.stash[STATE]
    rows = [row for reports in terminalreporter.stats.values() for report in reports for row in _rows(report)]
    if not rows and not state.notes:
        return
    terminalreporter.section("chaoslat")
    if rows:
        _write_table(terminalreporter, state, rows)
    for note in state.notes:
        terminalreporter.write_line(note)


def _rows(report: object) -> list[dict[str, Any]]:
    return getattr(report, _ROWS, [])


def _write_table(reporter: pytest.TerminalReporter, state: State, data: list[dict[str, Any]]) -> None:
    from chaoslat.report.rows import Row
    from chaoslat.report.terminal import UNLIMITED, closing, table

    rows = sorted((Row.from_json(one) for one in data), key=lambda row: row.recording)  # numbered
    writer = reporter.config.get_terminal_writer()
    width = max(writer.fullwidth, 80) if reporter.isatty else UNLIMITED
    reporter.write_line(table(rows, width=width, colour=writer.hasmarkup))
    reporter.write_line(closing(rows, out=state.shown_out, seed=state.seed))
