"""Real: a run on a kind cluster that is killed in the middle of a fault leaves the machine as it was."""

import signal
import subprocess
import threading

import pytest

from chaoslat.ledger import scoped
from tests.chaos.leftovers import CLI, gone_within, traces
from tests.chaos.on_kind import NEEDS_KIND
from tests.chaos.shipped import SHIPPED

pytestmark = [pytest.mark.chaos, NEEDS_KIND]
START_S = 180.0
HEAL_S = 30.0


class Run:
    """`chaoslat run EXPERIMENT --backend kind` up to the moment at which the fault is in force."""

    def __init__(self, experiment, out):
        argv = [*CLI, "run", experiment, "--backend", "kind", "--out", str(out)]
        self.process = subprocess.Popen(argv, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.run_id, self.lines = "", []
        self._seen = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def until_injected(self):
        assert self._seen.wait(START_S), self.lines
        assert self.run_id, self.lines
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        assert self.process.wait(60) == -signal.SIGKILL
        self._reader.join()

    def _read(self):
        with self.process.stderr:
            for line in self.process.stderr:
                self.lines.append(line)
                if "run " in line and "starting a system" in line:
                    self.run_id = line.rpartition("run ")[2].strip(" )\n")
                if "symptom gate" in line:
                    self._seen.set()
        self._seen.set()  # it has ended


def network():
    """The machine's firewall and interfaces."""
    tables = subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout
    links = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    return tables, [line.split()[0] for line in links.splitlines()]


@pytest.mark.parametrize("fault", SHIPPED)
def test_a_kill_in_the_middle_of_a_fault_leaves_no_cluster(fault, tmp_path):
    before = network()
    run = Run(fault, tmp_path).until_injected()
    try:
        assert run.process.poll() is None, run.lines
        assert scoped(run.run_id) in network()[0]
        assert traces(run.run_id)
    finally:
        run.kill()
    assert gone_within(run.run_id, HEAL_S) == []
    assert network() == before
