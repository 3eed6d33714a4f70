"""Undoing an engine, its fence, and containers on an engine of others: what the entry names, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.ledger import undo_engine
from chaoslat.ledger.ledger import Entry, JsonValue
from chaoslat.ledger.undo import UNDO, undo
from tests.unit.ledger.conftest import RUN

NAME = f"chaoslat-{RUN}"
HOST = "unix:///run/theirs.sock"
LABEL = f"cluster={NAME}"


def entry(kind: str, **args: JsonValue) -> Entry:
    return Entry(1, kind, args, RUN)


class Tools:
    """Stands in for nft, docker and umount: answers by the first words, and remembers."""

    def __init__(self, **answers: str) -> None:
        self.answers = answers
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, *words: str) -> str:
        self.calls.append(words)
        return next((text for word, text in self.answers.items() if word in words), "")

    def changes(self) -> list[tuple[str, ...]]:
        return [call for call in self.calls if not {"list", "ps", "ls"} & set(call)]


def stand_in(monkeypatch: pytest.MonkeyPatch, **answers: str) -> Tools:
    tools = Tools(**answers)
    monkeypatch.setattr(undo_engine, "_tool", tools)
    return tools


class TestFence:
    def test_the_run_s_table_is_deleted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = stand_in(monkeypatch, tables=f"table ip filter\ntable inet {NAME}\ntable inet {NAME}x\n")
        undo(entry("fence", name=NAME))
        assert tools.changes() == [("nft", "delete", "table", "inet", NAME)]

    @pytest.mark.parametrize("found", ["", f"table ip {NAME}\n", f"table inet {NAME}x\n"])
    def test_no_such_table_is_fine(self, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = stand_in(monkeypatch, tables=found)
        undo(entry("fence", name=NAME))
        assert tools.changes() == []

    def test_a_table_of_others_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = stand_in(monkeypatch, tables="table inet filter\n")
        with pytest.raises(ChaoslatError, match="was not undone"):
            undo(entry("fence", name="filter"))
        assert tools.calls == []


class TestContainers:
    def args(self) -> dict[str, JsonValue]:
        return {"host": HOST, "label": LABEL, "network": NAME}

    def test_those_with_the_label_and_the_network_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = stand_in(monkeypatch, ps="c1\nc2\n", ls=f"bridge\n{NAME}\n")
        undo(entry("containers", **self.args()))
        docker = ("docker", "--host", HOST)
        assert tools.changes() == [
            (*docker, "rm", "--force", "--volumes", "c1", "c2"),
            (*docker, "network", "rm", NAME),
        ]
        assert f"label={LABEL}" in tools.calls[0]

    def test_none_there_is_fine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = stand_in(monkeypatch, ls="bridge\n")
        undo(entry("containers", **self.args()))
        assert tools.changes() == []

    def test_a_network_of_others_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = stand_in(monkeypatch)
        with pytest.raises(ChaoslatError):
            undo(entry("containers", **self.args() | {"network": "bridge"}))
        assert tools.calls == []


class TestEngine:
    @pytest.fixture(autouse=True)
    def no_cgroups(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(undo_engine, "_cgroup_tops", lambda: iter(()))

    def mounted(self, monkeypatch: pytest.MonkeyPatch, *points: Path) -> Tools:
        monkeypatch.setattr(undo_engine, "mount_points", lambda: [str(point) for point in points])
        return stand_in(monkeypatch)

    def test_what_it_mounted_goes_last_first_and_then_its_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, data = tmp_path / NAME, tmp_path / "engine"
        folder.mkdir()
        (data / "image").mkdir(parents=True)
        inside = [folder / "exec", folder / "exec/netns/1", data / "overlay2/x/merged"]
        tools = self.mounted(monkeypatch, Path("/"), *inside, tmp_path / "engine-of-others", tmp_path)
        undo(entry("engine", folder=str(folder), data=str(data)))
        unmounted = [call[-1] for call in tools.calls]
        assert unmounted == [str(inside[1]), str(inside[0]), str(inside[2])]
        assert not folder.exists()
        assert (data / "image").is_dir()

    def test_a_later_engine_keeps_its_mounts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = tmp_path / "engine"
        data.mkdir()
        tools = self.mounted(monkeypatch, data / "overlay2/x/merged")
        with undo_engine._unless_in_use(data) as free:
            assert free
            undo(entry("engine", folder=str(tmp_path / NAME), data=str(data)))
        assert tools.calls == []

    def test_one_that_never_was_is_undone_already(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.mounted(monkeypatch)
        for _ in range(2):
            undo(entry("engine", folder=str(tmp_path / NAME), data=str(tmp_path / "engine")))
        assert list(tmp_path.iterdir()) == [tmp_path / "state"] or list(tmp_path.iterdir()) == []

    def test_a_folder_of_others_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.mounted(monkeypatch)
        (tmp_path / "docker").mkdir()
        with pytest.raises(ChaoslatError):
            undo(entry("engine", folder=str(tmp_path / "docker"), data=str(tmp_path / "engine")))
        assert (tmp_path / "docker").is_dir()


def test_the_kinds_are_known_to_whoever_undoes() -> None:
    assert {"engine", "fence", "containers"} <= set(UNDO)


def test_a_reaper_can_load_it_without_site_packages() -> None:
    start = Path(undo_engine.__file__).with_name("reaper_start.py").read_text()
    package = start[: start.index("from chaoslat.ledger.reaper")].replace(
        "__file__", repr(str(Path(undo_engine.__file__).with_name("reaper_start.py")))
    )
    code = package + "\nimport chaoslat.ledger.undo_engine as one; print(one.LOCK)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("lock\n", "")
