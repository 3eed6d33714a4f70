"""A program carried away with its own loader and libraries still runs, from there."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing
from chaoslat.parts.prefix import carry_folder, carry_program, launch_argv

PROGRAM = Path("/usr/bin/env")


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """A tree as dpkg-deb leaves it: this machine's `env` with the libraries that it links."""
    root = tmp_path / "root"
    libraries = root / "usr/lib/x86-linux-gnu"
    libraries.mkdir(parents=True)
    (root / "usr/bin").mkdir()
    shutil.copy2(PROGRAM, root / "usr/bin/env")
    listed = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"(/\S+) \(0x", listed)
    if not any("ld-linux" in path for path in paths):
        pytest.skip("this machine's programs do not use the GNU loader")
    for path in paths:
        shutil.copy2(path, libraries / Path(path).name)
    return root


def test_it_runs_from_the_prefix_under_its_own_name(unpacked: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    prefix.mkdir()
    carry_program(unpacked, "usr/bin/env", prefix)
    shutil.rmtree(unpacked)
    argv = launch_argv(prefix, "env")
    answer = subprocess.run([*argv, "cat", "/proc/self/comm"], capture_output=True, text=True, check=True)
    assert answer.stdout == "cat\n"
    assert Path(argv[0]).name == "env"
    assert (prefix / "lib/ld.so").stat().st_mode & 0o111


def test_a_library_that_was_not_fetched_is_an_error(unpacked: Path, tmp_path: Path) -> None:
    for library in unpacked.glob("usr/lib/*/libc.so*"):
        library.unlink()
    with pytest.raises(EnvironmentMissing):
        carry_program(unpacked, "usr/bin/env", tmp_path)


def test_a_tree_without_a_loader_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match="no program loader"):
        carry_program(tmp_path, "usr/bin/env", tmp_path)


def test_folders_and_files_are_carried_by_pattern(tmp_path: Path) -> None:
    (tmp_path / "a/charsets").mkdir(parents=True)
    (tmp_path / "a/charsets/x.xml").write_text("x")
    (tmp_path / "a/one.sql").write_text("1")
    (tmp_path / "a/two.txt").write_text("2")
    carry_folder(tmp_path, ["a/charsets", "a/*.sql"], tmp_path / "share")
    carried = sorted(str(path.relative_to(tmp_path / "share")) for path in (tmp_path / "share").rglob("*"))
    assert carried == ["charsets", "charsets/x.xml", "one.sql"]
