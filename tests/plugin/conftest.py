"""A project in a folder of its own, in which the plugin runs on doubles (tests/session_doubles.py)."""

from importlib.metadata import entry_points
from pathlib import Path

import pytest

# Imported before pytester takes its snapshot of the modules, so that the runs inside see these very modules.
from chaoslat import custody, pytest_plugin
from chaoslat.plugin import state
from chaoslat.report import html, summary
from tests import session_doubles

__all__ = ["html", "summary"]  # numpy and scipy, which cannot be imported twice

ROOT = Path(__file__).parents[2]
HEAD = "apiVersion: chaoslat/v1\nkind: Experiment\n"
INSTALLED = any(entry.name == "chaoslat" for entry in entry_points(group="pytest11"))
PLUGINS = [] if INSTALLED else [pytest_plugin]
QUIET = ("-o", "asyncio_default_fixture_loop_scope=function")  # else pytest-asyncio warns in each run
DOUBLES = """
from chaoslat.plugin import state
from tests import session_doubles
state.open_session = session_doubles.open_session
"""


class Project:
    """Runs pytest in the project and says which trials ran."""

    def __init__(self, pytester):
        self.pytester, self.path = pytester, pytester.path

    def experiment(self, name, text="", folder="experiments"):
        where = self.path / folder
        where.mkdir(exist_ok=True)
        body = text or HEAD + f"name: {name}\nfaults: [cpu-limit]\nexpect: [cpu-throttling]\n"
        (where / f"{name}.yaml").write_text(body)

    def run(self, *args):
        return self.pytester.runpytest_inprocess(*QUIET, *args, plugins=PLUGINS, no_reraise_ctrlc=True)

    def run_apart(self, *args):
        """In a process of its own, as pytest-xdist needs it."""
        self.pytester.makeconftest(DOUBLES)
        plugin = () if INSTALLED else ("-p", pytest_plugin.__name__)
        return self.pytester.runpytest_subprocess(*plugin, *QUIET, *args)

    @property
    def ran(self):
        return [line.split()[0] for line in session_doubles.ran(self.path)]


def _refuse(*_args):
    raise AssertionError("a test of the plugin reached for the real machine")


@pytest.fixture
def project(pytester, monkeypatch):
    """One good experiment, one unit test, one Python test with the mark, one with a fixture of ours."""
    monkeypatch.setattr(state, "open_session", session_doubles.open_session)
    monkeypatch.setattr(custody.MachineCustody, "enter", _refuse)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    made = Project(pytester)
    made.experiment("cpu-limit")
    pytester.makepyfile(
        test_mine="""
        import pathlib, pytest

        def test_plain():
            assert True

        @pytest.mark.chaos
        def test_marked():
            with pathlib.Path("ran.log").open("a") as log:
                log.write("marked\\n")

        def test_with_fixture(chaos_trial):
            assert chaos_trial("cpu-limit").ruling == "correct"
        """
    )
    return made
