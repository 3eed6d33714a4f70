"""Healing: newest first, on after a failure, twice without harm; and who is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaoslat.errors import Busy, ChaoslatError
from chaoslat.ledger import Ledger, Owner, heal, keep, leftovers, lock, owner, reaper, state
from chaoslat.ledger.ledger import Entry
from chaoslat.ledger.leftovers import Leftover
from chaoslat.ledger.marks import MARKER, mark_tree
from tests.unit.ledger.conftest import RUN

OTHER = "11111111"


def abandon(run_id: str) -> None:
    """Make it look as if the process that owns the run had died."""
    folder = state.run_folder(run_id)
    found = owner.read_owner(folder)
    assert found is not None
    owner.write_owner(folder, Owner(found.pid, found.start_ticks - 1, found.boot_id, found.since))


class TestHeal:
    def test_the_newest_is_undone_first_and_the_run_closed(self, ledger: Ledger, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.touch()
        ledger.promise("file", path=str(file), content="oldest")
        ledger.promise("file", path=str(file), content="newest")
        report = heal.heal(RUN)
        assert (report.undone, report.failed) == (("file", "file"), ())
        assert file.read_text() == "oldest"
        assert not ledger.folder.exists()

    def test_twice_is_harmless(self, ledger: Ledger) -> None:
        ledger.promise("file", path="/nowhere/x", content="")
        heal.heal(RUN)
        assert heal.heal(RUN) == heal.HealReport(RUN)

    def test_it_goes_on_after_a_failure_and_keeps_what_failed(self, ledger: Ledger, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        ledger.promise("file", path=str(tmp_path / "file"), content="back")
        bad = ledger.promise("spell")
        report = heal.heal(RUN)
        assert report.undone == ("file",)
        assert [failure.kind for failure in report.failed] == ["spell"]
        assert (tmp_path / "file").read_text() == "back"
        assert [entry.number for entry in ledger.pending()] == [bad]
        assert heal.heal(RUN).undone == ()  # what was settled is not done again

    def test_a_kind_of_a_third_party(self, ledger: Ledger) -> None:
        seen: list[Entry] = []
        ledger.promise("spell", word="x")
        assert heal.heal(RUN, {"spell": seen.append}).failed == ()
        assert [entry.args for entry in seen] == [{"word": "x"}]


class TestHealAll:
    def test_a_run_whose_process_lives_is_named_and_skipped(self, ledger: Ledger) -> None:
        (report,) = heal.heal_all()
        assert str(Owner.here().pid) in report.skipped
        assert ledger.folder.exists()
        assert heal.heal_all(include_alive=True) == [heal.HealReport(RUN)]
        assert not ledger.folder.exists()

    def test_a_dead_one_is_healed(self, ledger: Ledger) -> None:
        ledger.promise("file", path="/nowhere/x", content="")
        abandon(RUN)
        assert heal.heal_all() == [heal.HealReport(RUN, ("file",))]

    def test_a_kept_one_is_skipped_until_its_time_is_over(self, ledger: Ledger) -> None:
        abandon(RUN)
        keep(RUN, 60.0)
        assert "kept" in heal.heal_all()[0].skipped
        keep(RUN, -1.0)
        assert heal.heal_all() == [heal.HealReport(RUN)]

    def test_a_bad_ledger_does_not_keep_others_from_being_healed(self, ledger: Ledger) -> None:
        other = Ledger.create(OTHER)
        for run_id in (RUN, OTHER):
            abandon(run_id)
        (ledger.folder / "ledger.jsonl").write_text("garbage\n")
        bad, good = heal.heal_all()
        assert [failure.kind for failure in bad.failed] == ["ledger"]
        assert good == heal.HealReport(OTHER)
        assert not other.folder.exists()

    def test_nothing_was_ever_run(self) -> None:
        assert heal.heal_all() == []


class TestPatience:
    def test_what_is_busy_for_a_moment_is_tried_again(self, ledger: Ledger, tmp_path: Path) -> None:
        target = tmp_path / f"chaoslat-{RUN}"
        ledger.promise("tree", path=str(target))
        target.write_text("not a folder yet")  # rmtree refuses
        pauses: list[float] = []

        def sleep(pause_s: float) -> None:
            pauses.append(pause_s)
            if len(pauses) == 3:
                target.unlink()
                target.mkdir()

        report = reaper.heal_patiently(RUN, sleep)
        assert (report.undone, report.failed, len(pauses)) == (("tree",), (), 3)
        assert not target.exists()

    def test_it_ends(self, ledger: Ledger) -> None:
        ledger.promise("spell")
        report = reaper.heal_patiently(RUN, lambda _: None)
        assert [failure.kind for failure in report.failed] == ["spell"]
        assert ledger.folder.exists()

    def test_logs_are_bounded(self) -> None:
        for number in range(reaper.KEPT_LOGS + 5):
            reaper.leave_log(heal.HealReport(f"{number:08x}", ("file",)))
        logs = list(state.healed_log(RUN).parent.iterdir())
        assert len(logs) == reaper.KEPT_LOGS
        assert "undone: file" in state.healed_log(f"{reaper.KEPT_LOGS + 4:08x}").read_text()


class TestLock:
    def test_a_second_run_is_told_who_has_it_and_why(self) -> None:
        with lock.machine_lock(RUN, "trials"), pytest.raises(Busy) as caught, lock.machine_lock(OTHER, "x"):
            pass
        assert f"run {RUN}" in caught.value.where
        assert "trials" in caught.value.where
        assert "disturb" in caught.value.why

    def test_it_is_free_again_afterwards(self) -> None:
        with lock.machine_lock(RUN, "trials"):
            pass
        with lock.machine_lock(OTHER, "trials"):
            assert "trials" in (state.runs_root() / "machine.lock").read_text()
        assert (state.runs_root() / "machine.lock").read_text() == ""

    def test_a_kept_run_counts_except_for_itself(self, ledger: Ledger) -> None:
        keep(RUN, 60.0)
        with pytest.raises(Busy) as caught, lock.machine_lock(OTHER, "trials"):
            pass
        assert f"chaoslat down {RUN}" in caught.value.fix
        with lock.machine_lock(RUN, "diagnose"):
            pass
        keep(RUN, -1.0)
        with lock.machine_lock(OTHER, "trials"):
            pass

    def test_no_program_that_is_started_inherits_it(self) -> None:
        import subprocess

        with lock.machine_lock(RUN, "trials"):
            child = subprocess.Popen(["sleep", "60"], close_fds=False)
        try:
            with lock.machine_lock(OTHER, "trials"):
                assert child.poll() is None
        finally:
            child.kill()
            child.wait()


class TestLeftovers:
    @pytest.fixture(autouse=True)
    def folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only what the test made: the machine may have real leftovers."""
        monkeypatch.setattr(leftovers, "TEMP_FOLDERS", (tmp_path,))
        monkeypatch.setattr(leftovers, "_cgroups", lambda: iter(()))
        monkeypatch.setattr(leftovers, "_network_names", lambda: iter(()))

    def make(self, tmp_path: Path, run_id: str) -> Path:
        folder = tmp_path / f"chaoslat-{run_id}"
        folder.mkdir()
        return folder

    def test_a_folder_of_a_lost_run_is_found_and_removed(self, tmp_path: Path) -> None:
        folder = self.make(tmp_path, RUN)
        mark_tree(folder, RUN)
        (found,) = leftovers.leftovers()
        assert found == Leftover("folder", folder.name, RUN, True, (str(folder),))
        leftovers.remove_leftover(found)
        assert not folder.exists()
        assert leftovers.leftovers() == []

    def test_a_folder_without_our_mark_is_only_named(self, tmp_path: Path) -> None:
        folder = self.make(tmp_path, RUN)
        (found,) = leftovers.leftovers()
        assert not found.ours
        with pytest.raises(ChaoslatError, match="not removed"):
            leftovers.remove_leftover(found)
        assert folder.exists()

    @pytest.mark.parametrize("content", ["", "{}", "[]", '{"run": "11111111", "state": "/x"}'])
    def test_a_mark_that_does_not_fit_is_none(self, tmp_path: Path, content: str) -> None:
        (self.make(tmp_path, RUN) / MARKER).write_text(content)
        assert [found.ours for found in leftovers.leftovers()] == [False]

    def test_a_live_run_is_no_leftover(self, ledger: Ledger, tmp_path: Path) -> None:
        mark_tree(self.make(tmp_path, RUN), RUN)
        assert leftovers.leftovers() == []

    def test_a_run_that_lives_under_another_state_folder_is_not_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Ledger.create(RUN)
        mark_tree(self.make(tmp_path, RUN), RUN)
        monkeypatch.setenv("CHAOSLAT_STATE", str(tmp_path / "another"))
        assert [found.ours for found in leftovers.leftovers()] == [False]

    def test_other_names_are_not_looked_at(self, tmp_path: Path) -> None:
        for name in ("chaoslat", "chaoslat-x", "chaoslat-0a1b2c3d.old"):
            (tmp_path / name).mkdir()
        (tmp_path / f"chaoslat-{RUN}").symlink_to(tmp_path)
        assert leftovers.leftovers() == []
