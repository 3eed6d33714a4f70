"""Real: an engine's owner is killed while a node runs; a reaper clears up, and no later engine revives the node."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from chaoslat import nodeimage
from chaoslat.engine import ground
from chaoslat.ledger import Ledger, heal, new_run_id
from tests.chaos.leftovers import gone_within, traces

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(
        not nodeimage.catalogue()["node"].ready(nodeimage.store()),
        reason="the image is not built: make node-image",
    ),
]
OWNER = """
import sys
from chaoslat import nodeimage
from chaoslat.engine import ground
from chaoslat.ledger import Ledger, reaper
run, silent = sys.argv[1], lambda message: None
ledger = Ledger.create(run)
reaper.spawn(run, None)
laid = ground.lay(run, ledger.promise, silent)
laid.bring(*nodeimage.image("node"), silent)
options = ["--detach", "--privileged", "--restart=always", "--cgroupns=private", "--tmpfs=/run", "--volume=/var"]
laid.docker.run("run", *options, f"--network={laid.network}", nodeimage.image("node")[0])
print(laid.docker.host, flush=True)
sys.stdin.read()
"""


def firewall() -> str:
    return subprocess.run(["nft", "list", "ruleset"], capture_output=True, text=True, check=True).stdout


def test_an_owner_that_is_killed_leaves_nothing_and_the_next_engine_starts_nothing() -> None:
    run_id, before = new_run_id(), firewall()
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, run_id], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline().startswith("unix://")
        assert traces(run_id)
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.communicate(timeout=10)
    assert gone_within(run_id, 15) == []
    assert firewall() == before
    assert containers_on_a_new_engine() == ([], ["host", "none"])


def containers_on_a_new_engine() -> tuple[list[str], list[str]]:
    """What an engine finds when it starts: containers, networks other than the run's own."""
    run_id = new_run_id()
    ledger = Ledger.create(run_id)
    try:
        laid = ground.lay(run_id, ledger.promise, lambda _: None)
        networks = laid.docker.run("network", "ls", "--format", "{{.Name}}").split()
        found = laid.docker.run("ps", "--all", "--quiet").split()
        return found, sorted(set(networks) - {laid.network})
    finally:
        heal.heal(run_id)
