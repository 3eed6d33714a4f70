"""Copies of a data directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts import disk

ME = (os.geteuid(), os.getegid())


def mountinfo(folder: Path, device: int, kind: str) -> Path:
    path = folder / "mountinfo"
    line = f"36 35 {os.major(device)}:{os.minor(device)} / /x rw,noatime shared:1 - {kind} /dev/x rw\n"
    path.write_text("30 1 0:999 / /other rw - proc proc rw\n" + line)
    return path


def test_the_type_of_a_file_system_is_read_from_mountinfo(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    assert disk.filesystem_of(tmp_path, mountinfo(tmp_path, device, "btrfs")) == "btrfs"
    assert disk.filesystem_of(tmp_path, mountinfo(tmp_path, device + 1, "btrfs")) == ""


def test_a_copy_in_memory_is_refused_with_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "filesystem_of", lambda folder: "tmpfs")
    with pytest.raises(EnvironmentMissing, match="cannot be in memory") as caught:
        disk.copy_tree(tmp_path, tmp_path / "copy", owner=ME)
    assert "TMPDIR" in caught.value.fix
    assert not (tmp_path / "copy").exists()


def test_a_copy_has_the_same_content_and_keeps_holes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "filesystem_of", lambda folder: "ext4")
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner/small").write_bytes(b"abc")
    with (source / "hollow").open("wb") as hollow:
        hollow.truncate(8 << 20)
    disk.copy_tree(source, tmp_path / "copy", owner=ME)
    assert (tmp_path / "copy/inner/small").read_bytes() == b"abc"
    copied = (tmp_path / "copy/hollow").stat()
    assert copied.st_size == 8 << 20
    assert copied.st_blocks * 512 < 1 << 20


def test_big_files_go_to_tmpdir_or_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/somewhere")
    assert disk.disk_folder() == Path("/somewhere")
    monkeypatch.delenv("TMPDIR")
    assert disk.disk_folder() == Path("/var/tmp")
