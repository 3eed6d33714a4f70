"""The node's own scripts, run on folders that stand in for the kernel's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from chaoslat.nodeimage.inputs import folder

CGROUPS = folder("node", "rootfs", "usr", "local", "bin", "kubelet-cgroups")


def make_cgroups(top: Path) -> None:
    subprocess.run([CGROUPS, top], check=True, capture_output=True, text=True)


class TestVersion1:
    @pytest.fixture
    def top(self, tmp_path: Path) -> Path:
        for controller in ("cpu", "memory", "cpuset"):
            (tmp_path / controller).mkdir()
            (tmp_path / controller / "cgroup.procs").touch()
        (tmp_path / "not a hierarchy").mkdir()
        for name, content in (("cpuset.cpus", "0-1"), ("cpuset.mems", "0")):
            (tmp_path / "cpuset" / name).write_text(content)
            for group in ("kubelet", "kubelet.slice"):  # the kernel makes them with the folder
                (tmp_path / "cpuset" / group).mkdir(exist_ok=True)
                (tmp_path / "cpuset" / group / name).touch()
        return tmp_path

    def test_both_groups_are_in_every_hierarchy(self, top: Path) -> None:
        make_cgroups(top)
        made = sorted(str(path.relative_to(top)) for path in top.glob("*/kubelet*"))
        names = [
            f"{tree}/{name}" for tree in ("cpu", "cpuset", "memory") for name in ("kubelet", "kubelet.slice")
        ]
        assert made == names

    def test_an_empty_cpuset_is_filled_and_a_set_one_stays(self, top: Path) -> None:
        (top / "cpuset/kubelet/cpuset.cpus").write_text("1")
        make_cgroups(top)
        assert (top / "cpuset/kubelet/cpuset.cpus").read_text() == "1"
        assert (top / "cpuset/kubelet.slice/cpuset.cpus").read_text() == "0-1"
        assert (top / "cpuset/kubelet.slice/cpuset.mems").read_text() == "0"

    def test_a_second_time_is_fine(self, top: Path) -> None:
        make_cgroups(top)
        make_cgroups(top)
        assert (top / "memory/kubelet.slice").is_dir()


class TestVersion2:
    @pytest.fixture
    def top(self, tmp_path: Path) -> Path:
        (tmp_path / "cgroup.controllers").write_text("cpuset cpu memory\n")
        (tmp_path / "cgroup.subtree_control").touch()
        (tmp_path / "system.slice").mkdir()
        (tmp_path / "system.slice/cgroup.procs").touch()
        return tmp_path

    def test_controllers_are_handed_down(self, top: Path) -> None:
        make_cgroups(top)
        for level in (top, top / "kubelet", top / "kubelet.slice"):
            assert (level / "cgroup.subtree_control").read_text() == "+memory\n"  # the last one written

    def test_other_groups_are_left_alone(self, top: Path) -> None:
        make_cgroups(top)
        assert [path.name for path in (top / "system.slice").iterdir()] == ["cgroup.procs"]
