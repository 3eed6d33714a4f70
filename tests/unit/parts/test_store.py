"""A directory in the cache is whole or not there, whatever happens while it is built."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chaoslat.errors import Busy
from chaoslat.parts.store import build_once, keep_newest, key, locked

# A build that says it has begun and then waits to be killed.
HALF_BUILT = """
import sys, time
from pathlib import Path
from chaoslat.parts.store import build_once

def build(into):
    (into / "first").write_text("half")
    print("begun", flush=True)
    time.sleep(60)

build_once(Path(sys.argv[1]), build, lambda message: None)
"""

# A build that counts how often it runs.
COUNTED = """
import sys, time
from pathlib import Path
from chaoslat.parts.store import build_once

def build(into):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    time.sleep(0.2)
    (into / "whole").write_text("yes")

print(build_once(Path(sys.argv[1]), build, lambda message: None))
"""


def quiet(message: str) -> None:
    """Progress that nobody reads."""


def whole(into: Path) -> None:
    (into / "whole").write_text("yes")


def test_a_build_is_there_whole_and_open_to_others(tmp_path: Path) -> None:
    final = build_once(tmp_path / "cache/part-1", whole, quiet)
    assert (final / "whole").read_text() == "yes"
    assert final.stat().st_mode & 0o777 == 0o755


def test_a_second_install_builds_nothing(tmp_path: Path) -> None:
    build_once(tmp_path / "part-1", whole, quiet)
    build_once(tmp_path / "part-1", lambda into: pytest.fail("built twice"), quiet)


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fails(into: Path) -> None:
        whole(into)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        build_once(tmp_path / "part-1", fails, quiet)
    assert [path.name for path in tmp_path.iterdir()] == [".part-1.lock"]


def test_a_killed_build_looks_missing_and_the_next_one_clears_up(tmp_path: Path) -> None:
    final = tmp_path / "part-1"
    with subprocess.Popen(
        [sys.executable, "-c", HALF_BUILT, str(final)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        os.kill(child.pid, signal.SIGKILL)
    assert not final.exists()
    assert len(list(tmp_path.glob("part-1.part-*/first"))) == 1
    build_once(final, whole, quiet)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".part-1.lock", "part-1"]


def test_two_installs_at_once_build_once(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", COUNTED, str(tmp_path / "part-1"), str(tmp_path / "log")]
    children = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [child.communicate()[0].strip() for child in children]
    assert answers == [str(tmp_path / "part-1")] * 3
    assert (tmp_path / "log").read_text() == "built\n"


def test_waiting_is_said_and_has_an_end(tmp_path: Path) -> None:
    said: list[str] = []
    with (
        locked(tmp_path / "lock", quiet),
        pytest.raises(Busy, match="still running"),
        locked(tmp_path / "lock", said.append, wait_s=0.0),
    ):
        pytest.fail("both hold the lock")
    assert said == ["waiting for another install (lock)"]


def test_a_key_changes_with_each_input_and_with_the_border_between_them() -> None:
    assert key("a", "b") == key("a", b"b")
    assert len({key("a", "b"), key("ab"), key("a", "c"), key("b", "a"), key("a", "b", "")}) == 5


def test_old_directories_go_and_builds_under_way_stay(tmp_path: Path) -> None:
    for age_s, name in enumerate(["seed-new", "seed-old", "seed-older", "seed-x.part-1", "other-oldest"]):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1e9 - age_s, 1e9 - age_s))
    keep_newest(tmp_path, "seed-*", 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "other-oldest",
        "seed-new",
        "seed-old",
        "seed-x.part-1",
    ]
