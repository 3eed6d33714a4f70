"""Real owners that are killed, real namespaces, mounts and a real full disk: what they leave is undone."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaoslat.cgroup import detect
from chaoslat.custody import MachineCustody
from chaoslat.errors import Busy, ChaoslatError
from chaoslat.ledger import Entry, Ledger, heal, leftovers, link_name, lock, new_run_id, run_folder, scoped
from chaoslat.ledger.marks import mark_tree
from chaoslat.ledger.owner import boot_s, read_owner, start_ticks
from chaoslat.ledger.state import healed_log
from chaoslat.ledger.undo import undo
from tests.contract.privileged import privileged

HEAL_S = 15.0
OWNER = """
import json, sys, time
from chaoslat.ledger import Ledger, keep, reaper
order = json.loads(sys.argv[1])
ledger = Ledger.create(order["run"])
for kind, args in order["promises"]:
    ledger.promise(kind, **args)
pid = reaper.spawn(order["run"], order.get("lease_s"))
if "keep_s" in order:
    keep(order["run"], order["keep_s"])
print(pid, flush=True)
sys.stdin.read()
ledger.close_run()
"""


def _reapers_of(run_id: str) -> list[int]:
    """The reapers that watch over this run, by their command lines."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = entry.read_bytes().decode(errors="replace").split("\0")
            if run_id in words and any(word.endswith("reaper_start.py") for word in words):
                found.append(int(entry.parent.name))
    return found


class OwnerProcess:
    """A process that owns a run with promises and a reaper, and waits."""

    def __init__(self, run_id: str, promises: list[tuple[str, dict[str, object]]], **order: float) -> None:
        self.run_id = run_id
        argument = json.dumps({"run": run_id, "promises": promises, **order})
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWNER, argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            start_new_session=True,
        )
        assert self.process.stdout
        self.reaper = int(self.process.stdout.readline())

    def end(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.communicate()

    def healed_within_s(self, bound_s: float = HEAL_S) -> float:
        """Seconds until the run's folder and its reaper were gone."""
        began_s = time.monotonic()
        while run_folder(self.run_id).exists() or start_ticks(self.reaper) is not None:
            assert time.monotonic() - began_s < bound_s, (run_folder(self.run_id) / "reaper.log").read_text()
            time.sleep(0.02)
        return time.monotonic() - began_s


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    return tmp_path / "state"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., OwnerProcess]]:
    """Makes owners of runs that have a marked file to put back; none outlives the test."""
    owners: list[OwnerProcess] = []

    def make(*promises: tuple[str, dict[str, object]], **order: float) -> OwnerProcess:
        (tmp_path / "setting").write_text("injected")
        restore = ("file", {"path": str(tmp_path / "setting"), "content": "before"})
        owners.append(OwnerProcess(new_run_id(), [restore, *promises], **order))
        return owners[-1]

    yield make
    for owner in owners:
        owner.end(signal.SIGKILL)
        heal.heal(owner.run_id)  # its reaper ends when the folder is gone
        owner.healed_within_s()


class TestReaper:
    """As any user."""

    def test_a_killed_owner_is_undone(self, own: Callable[..., OwnerProcess], tmp_path: Path) -> None:
        owner = own()
        assert (tmp_path / "setting").read_text() == "injected"
        owner.end(signal.SIGKILL)
        owner.healed_within_s()
        assert (tmp_path / "setting").read_text() == "before"
        assert "undone: file" in healed_log(owner.run_id).read_text()

    def test_it_is_out_of_reach_of_its_owners_session(self, own: Callable[..., OwnerProcess]) -> None:
        owner = own()
        assert os.getsid(owner.reaper) != os.getsid(owner.process.pid)
        os.killpg(owner.process.pid, signal.SIGINT)  # Ctrl-C goes to the whole group
        owner.end(signal.SIGKILL)
        owner.healed_within_s()

    def test_it_is_small_and_holds_nothing_of_its_owner(self, own: Callable[..., OwnerProcess]) -> None:
        owner = own()
        resident_kb = int(Path(f"/proc/{owner.reaper}/status").read_text().split("VmRSS:")[1].split()[0])
        assert resident_kb < 24 * 1024
        assert os.readlink(f"/proc/{owner.reaper}/cwd") == "/"
        held = {os.readlink(f"/proc/{owner.reaper}/fd/{number}") for number in (0, 1, 2)}
        assert held == {"/dev/null", str(run_folder(owner.run_id) / "reaper.log")}

    def test_another_takes_the_place_of_one_that_died(self) -> None:
        custody = MachineCustody()
        run_id = custody.open_run()
        (first,) = _reapers_of(run_id)
        assert custody.watched(run_id)
        os.kill(first, signal.SIGKILL)
        while start_ticks(first) is not None:
            time.sleep(0.01)
        assert not custody.watched(run_id)
        assert custody.watched(run_id)
        (second,) = _reapers_of(run_id)
        assert second != first
        custody.heal(run_id)

    def test_it_does_not_spin(self, own: Callable[..., OwnerProcess]) -> None:
        owner = own()
        stat = Path(f"/proc/{owner.reaper}/stat")

        def ticks() -> int:
            return sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))

        before = ticks()
        time.sleep(2.0)
        assert ticks() - before <= 5  # of 200

    def test_it_ends_when_the_run_ends_cleanly(self, own: Callable[..., OwnerProcess]) -> None:
        owner = own()
        heal.heal(owner.run_id)
        owner.healed_within_s()
        assert owner.process.poll() is None
        assert not healed_log(owner.run_id).exists()

    @pytest.mark.skipif(
        "CHAOSLAT_PRIVILEGED" not in os.environ, reason="waits for 11 s: CHAOSLAT_PRIVILEGED=1"
    )
    def test_the_end_of_a_lease_undoes_under_a_living_owner(
        self, own: Callable[..., OwnerProcess], tmp_path: Path
    ) -> None:
        owner = own(lease_s=0.5)
        owner.healed_within_s(HEAL_S + 10)  # the owner is given ten seconds to do it itself
        assert (tmp_path / "setting").read_text() == "before"
        assert owner.process.poll() is None

    def test_a_kept_run_outlives_its_owner_until_its_time_is_over(
        self, own: Callable[..., OwnerProcess], tmp_path: Path
    ) -> None:
        owner = own(keep_s=2.0)
        kept = read_owner(run_folder(owner.run_id))
        owner.end(signal.SIGKILL)
        owner.healed_within_s(2.0 + HEAL_S)
        assert kept
        assert kept.expires_boot_s
        assert boot_s() >= kept.expires_boot_s
        assert (tmp_path / "setting").read_text() == "before"

    def test_a_killed_reaper_leaves_it_to_heal(
        self, own: Callable[..., OwnerProcess], tmp_path: Path
    ) -> None:
        owner = own()
        os.kill(owner.reaper, signal.SIGKILL)
        owner.end(signal.SIGKILL)
        (report,) = heal.heal_all()
        assert (report.run_id, report.undone, report.failed) == (owner.run_id, ("file",), ())
        assert (tmp_path / "setting").read_text() == "before"


def test_a_killed_holder_gives_the_lock_back(state: Path) -> None:
    hold = (
        "import sys; from chaoslat.ledger import lock\n"
        "with lock.machine_lock('0a1b2c3d', 'trials'): print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", hold],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(Busy) as caught, lock.machine_lock("11111111", "trials"):
        pass
    assert f"process {holder.pid}" in caught.value.where
    holder.kill()
    holder.communicate()
    with lock.machine_lock("11111111", "trials"):
        assert "11111111" in (state / "machine.lock").read_text()


@privileged
class TestKernelObjects:
    """As root."""

    def test_all_of_a_killed_run_is_gone(self, own: Callable[..., OwnerProcess], tmp_path: Path) -> None:
        run_id, tree = new_run_id(), detect()
        name, folder = scoped(run_id), tmp_path / scoped(run_id)
        owner = OwnerProcess(
            run_id,
            [
                ("tree", {"path": str(folder)}),
                ("mount", {"path": str(folder / "volumes")}),
                ("netns", {"name": name}),
                ("link", {"name": link_name(run_id, "h")}),
                ("cgroup", {"paths": list(tree.directories(name))}),
            ],
        )
        make(run_id, folder)
        inside = [stubborn(tree.launcher(f"{name}/kubepods/{pod}")) for pod in ("app", "db")]
        owner.end(signal.SIGKILL)
        took_s = owner.healed_within_s()
        assert all(process.wait(timeout=5) == -signal.SIGKILL for process in inside)
        assert traces(run_id, folder) == []
        assert took_s < HEAL_S

    def test_without_any_ledger_only_what_we_marked_is_removed(self, tmp_path: Path) -> None:
        run_id = new_run_id()
        detect().create(scoped(run_id))
        try:
            (found,) = [one for one in leftovers.leftovers() if one.run_id == run_id]
            assert (found.what, found.ours) == ("cgroup", False)
            with pytest.raises(ChaoslatError):
                leftovers.remove_leftover(found)
            Ledger.create(run_id).folder.rename(tmp_path / "lost")
            (found,) = [one for one in leftovers.leftovers() if one.run_id == run_id]
            leftovers.remove_leftover(found)
            assert traces(run_id, tmp_path / "none") == []
            assert [one for one in leftovers.leftovers() if one.run_id == run_id] == []
        finally:
            detect().remove(scoped(run_id))

    def test_a_lost_folder_with_its_volume_is_removed(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        run_id = new_run_id()
        folder = tmp_path / scoped(run_id)
        monkeypatch.setattr(leftovers, "TEMP_FOLDERS", (tmp_path,))
        make(run_id, folder, cgroups=False)
        found = [one for one in leftovers.leftovers() if one.run_id == run_id]
        assert sorted(one.what for one in found) == ["folder", "interface", "network namespace"]
        for one in found:
            undo(Entry(1, "link", {"name": link_name(run_id, "h")}, run_id))
            undo(Entry(1, "netns", {"name": scoped(run_id)}, run_id))
            if one.what == "folder":
                leftovers.remove_leftover(one)
        assert traces(run_id, folder) == []

    def test_a_bridge_goes_with_what_is_plugged_into_it(self) -> None:
        """Also where the other end is in a namespace that the kernel, or somebody, keeps for a while."""
        run_id = new_run_id()
        name, bridge, port = scoped(run_id), link_name(run_id, "b"), link_name(run_id, "p")
        peer = ["peer", "name", "eth0", "netns", name]
        try:
            for command in (
                ["ip", "netns", "add", name],
                ["ip", "link", "add", bridge, "type", "bridge"],
                ["ip", "link", "add", port, "master", bridge, "type", "veth", *peer],
            ):
                subprocess.run(command, check=True)
            undo(Entry(1, "link", {"name": bridge}, run_id))
            undo(Entry(1, "link", {"name": bridge}, run_id))
            assert not any(Path("/sys/class/net", link).exists() for link in (bridge, port))
        finally:
            undo(Entry(2, "netns", {"name": name}, run_id))

    def test_a_folder_with_a_strangers_mount_inside_is_not_removed(self, tmp_path: Path) -> None:
        run_id = new_run_id()
        folder, precious = tmp_path / scoped(run_id), tmp_path / "precious"
        precious.mkdir()
        (precious / "file").touch()
        (folder / "mnt").mkdir(parents=True)
        subprocess.run(["mount", "--bind", str(precious), str(folder / "mnt")], check=True)
        try:
            with pytest.raises(ChaoslatError) as caught:
                undo(Entry(1, "tree", {"path": str(folder)}, run_id))
            assert "mounted inside" in caught.value.why
            assert (precious / "file").exists()
        finally:
            subprocess.run(["umount", str(folder / "mnt")], check=True)

    def test_a_full_disk_refuses_the_promise(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        point = tmp_path / "small"
        point.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "chaoslat-test", str(point)], check=True)
        monkeypatch.setenv("CHAOSLAT_STATE", str(point))
        try:
            ledger = Ledger.create(new_run_id())
            first = ledger.promise("file", path="/x", content="")
            fill(point)
            with pytest.raises(ChaoslatError, match="nothing was changed"):
                ledger.promise("file", path="/x", content="long" * 4096)
            assert [entry.number for entry in ledger.pending()] == [first]
            assert (
                heal.heal(ledger.run_id).failed == ()
            )  # a full disk does not keep anything from being undone
        finally:
            subprocess.run(["umount", str(point)], check=True)


def make(run_id: str, folder: Path, cgroups: bool = True) -> None:
    """What a local system makes: folder, volume, namespace, link, cgroups."""
    (folder / "volumes").mkdir(parents=True)
    mark_tree(folder, run_id)
    name, host = scoped(run_id), link_name(run_id, "h")
    for command in (
        ["mount", "-t", "tmpfs", "-o", "size=1m", name, str(folder / "volumes")],
        ["ip", "netns", "add", name],
        ["ip", "link", "add", host, "type", "veth", "peer", "name", link_name(run_id, "n"), "netns", name],
    ):
        subprocess.run(command, check=True)
    if cgroups:
        for pod in ("app", "db"):
            detect().create(f"{name}/kubepods/{pod}")


def fill(point: Path) -> None:
    """Fill a file system to its last page."""
    with (point / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"0" * 4096)


def stubborn(launcher: list[str]) -> subprocess.Popen[str]:
    """A process that heeds no polite signal, and has one below it that forks."""
    script = "trap '' TERM INT HUP; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen([*launcher, "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.stdout.close()
    return process


def traces(run_id: str, folder: Path) -> list[str]:
    """All that still carries the run's id."""
    places = [
        *detect().directories(scoped(run_id)),
        f"/run/netns/{scoped(run_id)}",
        f"/sys/class/net/{link_name(run_id, 'h')}",
        str(folder),
    ]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if run_id in line]
    return [place for place in places if os.path.lexists(place)] + mounts
