"""Real: a run that is interrupted or killed in the middle of a fault leaves the machine as it was."""

import signal
import subprocess
import threading

import pytest

from tests.chaos.leftovers import CLI, gone_within, traces
from tests.chaos.shipped import SHIPPED

pytestmark = pytest.mark.chaos
HEAL_S = 15.0
START_S = 60.0


class Run:
    """`chaoslat run EXPERIMENT` up to a line of its progress."""

    def __init__(self, experiment, out):
        argv = [*CLI, "run", experiment, "--out", str(out)]
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.run_id, self.lines = "", []
        self._seen = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def until_injecting(self):
        assert self._seen.wait(START_S), self.lines
        return self

    def end_by(self, number):
        self.process.send_signal(number)
        return self.process.wait(60)

    def _read(self):
        with self.process.stderr:
            for line in self.process.stderr:
                self.lines.append(line)
                if "run " in line and "starting a system" in line:
                    self.run_id = line.rpartition("run ")[2].strip(" )\n")
                if "calibrating" in line or "symptom gate" in line or "without a limit" in line:
                    self._seen.set()


@pytest.mark.parametrize("fault", SHIPPED)
def test_a_kill_in_the_middle_of_a_fault_is_undone(fault, tmp_path):
    run = Run(fault, tmp_path).until_injecting()
    assert traces(run.run_id)
    assert run.end_by(signal.SIGKILL) == -signal.SIGKILL
    assert gone_within(run.run_id, HEAL_S) == []


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interruption_undoes_before_it_exits(number, code, tmp_path):
    run = Run("pool-size", tmp_path).until_injecting()
    assert run.end_by(number) == code
    assert gone_within(run.run_id, 2) == []  # the reaper may still be on its way out
    assert any("interrupted: undoing" in line for line in run.lines)
