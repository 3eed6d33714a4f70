"""Leaking, as far as ordinary folders can show it; the kernel's part is in tests/contract/test_cgroup_real.py."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaoslat.cgroup import CgroupTree
from chaoslat.cgroup.leak import leak, leaked, unleak
from chaoslat.errors import ChaoslatError

DB = "chaoslat-0000e1e1/kubepods/db"


def test_a_leak_that_fails_says_why_and_leaves_no_cgroup(tree: CgroupTree, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    own = tmp_path / "root/proc" / str(os.getpid())
    own.mkdir()
    (own / "cgroup").write_text("0::/\n4:memory:/\n")
    with pytest.raises(ChaoslatError) as caught:
        leak(tree, DB, 3, volume)  # an ordinary folder has no cgroup.procs to enter by
    assert "cgroup.procs" in caught.value.why
    assert not Path(tree.memory_directory(f"{DB}/leaving")).exists()


def test_each_file_of_each_folder_counts(tmp_path: Path) -> None:
    for folder, files in (("0000", 3), ("0001", 2)):
        (tmp_path / folder).mkdir()
        for number in range(files):
            (tmp_path / folder / str(number)).touch()
    (tmp_path / "a file of the volume itself").touch()
    assert leaked(tmp_path) == 5


def test_unleaking_removes_the_folders_and_nothing_else(tmp_path: Path) -> None:
    elsewhere, volume = tmp_path / "elsewhere", tmp_path / "volume"
    (volume / "0000").mkdir(parents=True)
    (volume / "0000" / "000000").touch()
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    (volume / "link").symlink_to(elsewhere)
    unleak(volume)
    unleak(volume)
    assert leaked(volume) == 0
    assert (elsewhere / "kept").exists()
