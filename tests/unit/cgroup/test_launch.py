"""The launcher prefix and the bounded write, with ordinary files in the place of the kernel's."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from chaoslat.cgroup.launch import launcher
from chaoslat.cgroup.reclaim import write_bounded


def test_it_enters_each_cgroup_and_becomes_the_program(tmp_path: Path) -> None:
    procs = [tmp_path / "cpu", tmp_path / "a memory"]
    argv = [*launcher([str(file) for file in procs]), "/bin/sh", "-c", 'echo $$ "$0"', "--"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    said, _ = process.communicate(timeout=20)
    assert said == f"{process.pid} --\n"
    assert [file.read_text() for file in procs] == ["0\n", "0\n"]


def test_a_cgroup_that_cannot_be_entered_starts_nothing(tmp_path: Path) -> None:
    argv = [*launcher([str(tmp_path / "missing" / "cgroup.procs")]), "touch", str(tmp_path / "started")]
    done = subprocess.run(argv, capture_output=True, timeout=20, check=False)
    assert done.returncode == 125
    assert not (tmp_path / "started").exists()


def test_a_write_that_does_not_end_is_interrupted(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)  # opening it for writing blocks, as the kernel's reclaim does
    began_s = time.monotonic()
    assert write_bounded(fifo, "0", 0.2) is False
    assert time.monotonic() - began_s >= 0.2


def test_a_refused_write_has_ended(tmp_path: Path) -> None:
    assert write_bounded(tmp_path / "missing" / "file", "0", 20.0) is True
