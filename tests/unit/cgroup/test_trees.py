"""Both versions of cgroups, on trees recorded in the same situation: what one shows the other has to show."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaoslat.cgroup import CgroupTree, detect, files, walk
from chaoslat.errors import ChaoslatError
from chaoslat.model import MemoryCgroups

TOP = "chaoslat-0000e1e1"
APP, DB, MYSQLD = f"{TOP}/kubepods/app", f"{TOP}/kubepods/db", f"{TOP}/kubepods/db/mysqld"
APP_PID, MYSQLD_PID = 4711, 4712


def test_the_path_of_a_process_goes_from_its_own_cgroup_to_the_top(tree: CgroupTree) -> None:
    assert [one.path for one in tree.cpu_path(APP_PID)] == [APP, f"{TOP}/kubepods", TOP, "/"]


def test_a_throttled_parent_does_not_show_in_the_child(tree: CgroupTree) -> None:
    own, parent, *_ = tree.cpu_path(APP_PID)
    assert (own.quota_us, own.periods, own.throttled_periods, own.throttled_s) == (None, 0, 0, 0.0)
    assert (parent.quota_us, parent.period_us, parent.limit_cores) == (20_000, 100_000, 0.2)
    assert (parent.periods, parent.throttled_periods) == (14, 13)


def test_counters_are_in_seconds(tree: CgroupTree) -> None:
    own, parent, *_ = tree.cpu_path(APP_PID)
    assert parent.throttled_s == pytest.approx(1.19948, abs=1e-5)
    assert own.usage_s == pytest.approx(0.255436, abs=1e-6)


def test_a_quota_is_set_read_back_and_put_back_from_the_ledger(tree: CgroupTree) -> None:
    before = tree.cpu(APP)
    file, content = tree.cpu_quota_file(APP)
    tree.set_cpu_quota(APP, 30_000)
    assert Path(file).read_text() != content
    Path(file).write_text(content)
    assert tree.cpu(APP) == before


def test_memory_is_that_of_all_below(tree: CgroupTree) -> None:
    reading = tree.memory(DB)
    assert (reading.limit_bytes, reading.usage_bytes, reading.hits) == (64 << 20, 65_392_640, 40)
    assert (reading.cache_bytes, reading.anon_bytes) == (63_012_864, 110_592)
    assert reading.kernel_bytes == 1_802_240


def test_no_limit_reads_as_none(tree: CgroupTree) -> None:
    assert tree.memory(MYSQLD).limit_bytes is None
    assert tree.memory("/").limit_bytes is None


def test_the_nearest_limit_may_be_an_ancestors(tree: CgroupTree) -> None:
    assert tree.memory_path(MYSQLD_PID) == MYSQLD
    assert tree.memory_limited(MYSQLD_PID) == (DB,)
    assert tree.memory_limited(APP_PID) == ()


def test_a_memory_limit_is_set_and_lifted(tree: CgroupTree) -> None:
    tree.set_memory_limit(APP, 32 << 20)
    assert tree.memory(APP).limit_bytes == 32 << 20


def test_processes_of_this_very_cgroup(tree: CgroupTree) -> None:
    assert tree.pids(APP) == (APP_PID,)
    assert tree.pids(DB) == ()


def test_existence(tree: CgroupTree) -> None:
    assert tree.exists(APP)
    assert not tree.exists(f"{TOP}/kubepods/nobody")


def test_a_cgroup_that_is_missing_is_a_plain_error(tree: CgroupTree) -> None:
    with pytest.raises(ChaoslatError) as caught:
        tree.memory("gone")
    assert "gone" in caught.value.where
    with pytest.raises(ChaoslatError):
        tree.set_cpu_quota("gone", 10_000)


def test_removing_what_is_gone_is_fine(tree: CgroupTree) -> None:
    tree.remove("never/was")
    assert not tree.exists("never/was")


class TestVersion1:
    def test_creates_the_path_in_each_hierarchy(self, v1_root: Path) -> None:
        tree = detect(v1_root)
        made = tree.create("chaoslat-1/pod/x")
        assert made == tree.directories("chaoslat-1/pod/x")
        assert len(made) == 4
        assert tree.exists("chaoslat-1/pod/x")
        tree.remove("chaoslat-1")
        assert not any(Path(directory).exists() for directory in tree.directories("chaoslat-1"))

    def test_an_old_kernel_is_told_to_account_for_children(self, v1_root: Path) -> None:
        switch = v1_root / "sys/fs/cgroup/memory" / TOP / "memory.use_hierarchy"
        switch.write_text("0\n")
        detect(v1_root).create(f"{TOP}/kubepods/new")
        assert switch.read_text() == "1"

    def test_lifting_writes_minus_one(self, v1_root: Path) -> None:
        tree = detect(v1_root)
        tree.set_cpu_quota(f"{TOP}/kubepods", None)
        assert Path(tree.cpu_quota_file(f"{TOP}/kubepods")[0]).read_text() == "-1"

    def test_dying_ones_are_those_counted_less_those_with_a_directory(self, v1_root: Path) -> None:
        assert detect(v1_root).count_memory_cgroups() == MemoryCgroups(live=6, dying=217 - 6)

    def test_inside_a_container_they_cannot_be_counted(self, v1_root: Path) -> None:
        mountinfo = v1_root / "proc/self/mountinfo"
        mountinfo.write_text(mountinfo.read_text().replace("0:32 / ", "0:32 /docker/12 "))
        with pytest.raises(ChaoslatError, match="container"):
            detect(v1_root).count_memory_cgroups()

    def test_a_path_that_cpuacct_lacks_has_no_usage(self, v1_root: Path) -> None:
        (v1_root / "sys/fs/cgroup/cpuacct" / APP / "cpuacct.usage").unlink()
        assert detect(v1_root).cpu(APP).usage_s == 0.0

    def test_reclaim_writes_to_force_empty(self, v1_root: Path) -> None:
        file = v1_root / "sys/fs/cgroup/memory" / DB / "memory.force_empty"
        file.touch()
        result = detect(v1_root).reclaim(DB, bound_s=10.0)
        assert (result.path, result.finished, file.read_text()) == (DB, True, "0\n")


class TestVersion2:
    def test_controllers_are_enabled_from_the_top_down(self, v2_root: Path) -> None:
        tree = detect(v2_root)
        top = v2_root / "sys/fs/cgroup/chaoslat-1"
        top.mkdir()
        (top / "cgroup.controllers").write_text("cpu memory pids\n")  # a kernel fills these in at mkdir
        (top / "cgroup.subtree_control").write_text("memory\n")
        tree.create("chaoslat-1/pod")
        assert (top / "cgroup.subtree_control").read_text() == "+pids"  # the last write; cpu came before it
        assert tree.exists("chaoslat-1/pod")

    def test_what_is_enabled_is_not_written_again(self, v2_root: Path) -> None:
        top = v2_root / "sys/fs/cgroup/cgroup.subtree_control"
        before = top.read_text()
        detect(v2_root).create("another")
        assert top.read_text() == before

    def test_a_quota_leaves_the_period(self, v2_root: Path) -> None:
        tree = detect(v2_root)
        file, _ = tree.cpu_quota_file(APP)
        tree.set_cpu_quota(APP, 30_000)
        assert Path(file).read_text() == "30000"
        tree.set_cpu_quota(APP, None)
        assert Path(file).read_text() == "max"

    def test_dying_memory_cgroups_of_a_new_kernel(self, v2_root: Path) -> None:
        assert detect(v2_root).count_memory_cgroups() == MemoryCgroups(live=62, dying=303)

    def test_dying_cgroups_of_an_older_kernel(self, v2_root: Path) -> None:
        stat = v2_root / "sys/fs/cgroup/cgroup.stat"
        stat.write_text("nr_descendants 61\nnr_dying_descendants 305\n")
        assert detect(v2_root).count_memory_cgroups() == MemoryCgroups(live=62, dying=305)

    def test_the_top_without_memory_current_adds_up_its_stat(self, v2_root: Path) -> None:
        assert detect(v2_root).memory("/").usage_bytes == 3_100_000_000

    def test_shmem_counts(self, v2_root: Path) -> None:
        assert detect(v2_root).memory(DB).shmem_bytes == 40_960

    def test_reclaim_asks_for_all_that_is_charged(self, v2_root: Path) -> None:
        result = detect(v2_root).reclaim(DB, bound_s=10.0)
        asked = (v2_root / "sys/fs/cgroup" / DB / "memory.reclaim").read_text()
        assert (result.finished, asked) == (True, "65392640\n")
        assert (result.dying_before, result.dying_after) == (303, 303)


@given(st.text())
def test_keyed_lines_never_raise(text: str) -> None:
    assert all(isinstance(value, int) for value in files.keyed(text).values())


@given(st.lists(st.from_regex(r"[a-z0-9.-]{1,8}", fullmatch=True), max_size=6))
def test_ancestors_end_at_the_top(parts: list[str]) -> None:
    path = "/".join(parts)
    found = walk.ancestors(path)
    assert found[0] == walk.normal(path)
    assert found[-1] == "/"
    assert len(found) == len(parts) + 1
