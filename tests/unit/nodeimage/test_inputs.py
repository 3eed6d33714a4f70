"""The key of an artefact changes with what it is made from, and with nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chaoslat.nodeimage.inputs import folder, packages, tree_key


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "deep/deeper").mkdir(parents=True)
    (root / "a").write_text("one")
    (root / "deep/deeper/b").write_text("two")
    (root / "link").symlink_to("a")
    return root


def change_content(root: Path) -> None:
    (root / "deep/deeper/b").write_text("three")


def rename(root: Path) -> None:
    (root / "a").rename(root / "c")


def move(root: Path) -> None:
    (root / "deep/deeper/b").rename(root / "deep/b")


def add(root: Path) -> None:
    (root / "empty").touch()


def make_executable(root: Path) -> None:
    (root / "a").chmod(0o755)


def turn_link(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("deep")


def swap(root: Path) -> None:
    (root / "a").write_text("two")
    (root / "deep/deeper/b").write_text("one")


@pytest.mark.parametrize("change", [change_content, rename, move, add, make_executable, turn_link, swap])
def test_every_change_counts(change: Callable[[Path], None], tree: Path) -> None:
    before = tree_key(tree)
    change(tree)
    assert tree_key(tree) != before


def test_times_and_empty_folders_do_not_count(tree: Path) -> None:
    before = tree_key(tree)
    os.utime(tree / "a", (1, 1))
    (tree / "empty folder").mkdir()
    assert tree_key(tree) == before


def test_the_place_does_not_count(tree: Path, tmp_path: Path) -> None:
    before = tree_key(tree)
    assert tree_key(tree.rename(tmp_path / "elsewhere")) == before


def test_a_folder_that_is_left_out_does_not_count(tree: Path) -> None:
    before = tree_key(tree, leave_out=("deep",))
    change_content(tree)
    assert tree_key(tree, leave_out=("deep",)) == before


def test_files_are_inputs_as_well(tree: Path) -> None:
    before = tree_key(tree / "a", tree / "deep")
    (tree / "a").write_text("other")
    assert tree_key(tree / "a", tree / "deep") != before


@pytest.mark.parametrize("name", sorted(path.stem for path in folder("packages").glob("*.txt")))
def test_every_list_of_packages_is_one_package_a_line(name: str) -> None:
    listed = packages(name)
    assert listed
    assert not [package for package in listed if " " in package or "#" in package]
    assert len(set(listed)) == len(listed)
