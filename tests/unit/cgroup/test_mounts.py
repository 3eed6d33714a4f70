"""Which hierarchy is mounted where, out of /proc/self/mountinfo, and which version a machine is taken for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.cgroup import detect
from chaoslat.cgroup.mounts import Hierarchy, parse_mountinfo, parse_proc_cgroup
from chaoslat.errors import EnvironmentMissing

ROOT = Path("/")
JOINT = "35 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:12 - cgroup cgroup rw,cpu,cpuacct\n"
MEMORY = "36 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
UNIFIED = "30 23 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n"


def machine(root: Path, mountinfo: str, controllers: str = "") -> Path:
    """A root directory with these mounts; `controllers` are those of the unified hierarchy."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/mountinfo").write_text(mountinfo)
    (root / "sys/fs/cgroup").mkdir(parents=True)
    (root / "sys/fs/cgroup/cgroup.controllers").write_text(controllers)
    return root


def test_separate_controllers_are_version_1(v1_root: Path) -> None:
    names = ("cpu", "cpuacct", "memory", "pids")
    expected = tuple(f"{v1_root}/sys/fs/cgroup/{name}/a/b" for name in names)
    assert detect(v1_root).version == 1
    assert detect(v1_root).directories("a/b") == expected


def test_joint_cpu_and_cpuacct_are_one_directory(tmp_path: Path) -> None:
    tree = detect(machine(tmp_path, JOINT + MEMORY))
    top = f"{tmp_path}/sys/fs/cgroup"
    assert tree.directories("a") == (f"{top}/cpu,cpuacct/a", f"{top}/memory/a")


def test_a_unified_hierarchy_with_the_controllers_is_version_2(v2_root: Path) -> None:
    assert detect(v2_root).version == 2


def test_a_hybrid_machine_is_what_its_controllers_are_in(tmp_path: Path) -> None:
    empty_unified = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
    assert detect(machine(tmp_path, empty_unified + JOINT + MEMORY)).version == 1


@pytest.mark.parametrize("mountinfo", ["", MEMORY, JOINT, UNIFIED])
def test_without_cpu_and_memory_it_says_what_is_there(tmp_path: Path, mountinfo: str) -> None:
    with pytest.raises(EnvironmentMissing) as caught:
        detect(machine(tmp_path, mountinfo, controllers="pids"))
    assert caught.value.where
    assert caught.value.fix


def test_a_mount_point_with_a_space() -> None:
    (found,) = parse_mountinfo(MEMORY.replace("/sys/fs/cgroup/memory", r"/my\040cgroups"), ROOT)
    assert found.directory == Path("/my cgroups")


@given(st.text())
def test_garbage_is_no_mount(text: str) -> None:
    assert parse_mountinfo(text, ROOT) == ()


@given(st.integers(0, len(JOINT)))
def test_a_line_cut_anywhere_never_raises(length: int) -> None:
    assert len(parse_mountinfo(JOINT[:length], ROOT)) <= 1


@given(st.text())
def test_a_garbled_proc_cgroup_never_raises(text: str) -> None:
    assert all(path for path in parse_proc_cgroup(text).values())


def test_each_controller_has_its_own_path() -> None:
    paths = parse_proc_cgroup("9:name=systemd:/\n4:memory:/pod/x\n1:cpu,cpuacct:/pod\n0::/init.scope\n")
    assert (paths["memory"], paths["cpu"], paths["cpuacct"]) == ("/pod/x", "/pod", "/pod")
    assert paths[""] == "/init.scope"


@pytest.mark.parametrize(
    ("top", "cgroup", "expected"),
    [
        ("/", "/kubepods/db", "kubepods/db"),
        ("/", "/", "/"),
        ("/docker/12", "/docker/12/kubepods", "kubepods"),
        ("/docker/12", "/docker/12", "/"),
        ("/docker/12", "/docker/123/kubepods", "/"),  # a neighbour's: not visible from this mount
        ("/docker/12", "/", "/"),
    ],
)
def test_paths_are_seen_from_the_mount_point(top: str, cgroup: str, expected: str) -> None:
    assert Hierarchy(1, ROOT, top, frozenset()).relative(cgroup) == expected
