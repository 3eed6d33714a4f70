"""The kernel's own cgroups: what the recorded trees cannot show."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaoslat.cgroup import CgroupTree, detect
from chaoslat.cgroup.leak import leak, leaked, unleak
from chaoslat.cgroup.mounts import parse_mountinfo
from chaoslat.cgroup.v2 import V2Tree
from chaoslat.errors import ChaoslatError
from chaoslat.ledger import new_run_id, scoped
from chaoslat.ledger.processes import empty_and_remove
from tests.contract.privileged import privileged

pytestmark = privileged
MB = 1024**2
LEAST_BYTES = 2_000  # of kernel memory per cgroup; 14 KB on a kernel 6.18
SETTLE_S = 15.0


def eventually(true: Callable[[], bool]) -> bool:
    """Whether it comes true within a time that only a broken machine needs."""
    end_s = time.monotonic() + SETTLE_S
    while not true():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def tree() -> CgroupTree:
    return detect()


@pytest.fixture
def top(tree: CgroupTree) -> Iterator[str]:
    """The name of a run's top cgroup; all of it is gone afterwards."""
    name = scoped(new_run_id())
    yield name
    for directory in tree.directories(name):
        empty_and_remove(Path(directory))


@pytest.fixture
def volume() -> Iterator[Path]:
    """A tmpfs of our own."""
    point = Path("/var/tmp") / scoped(new_run_id())
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", point.name, str(point)], check=True)
    yield point
    subprocess.run(["umount", str(point)], check=True)
    point.rmdir()


@pytest.fixture
def run_in(tree: CgroupTree) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a program in a cgroup; it is killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def start(path: str, *argv: str) -> subprocess.Popen[str]:
        started.append(subprocess.Popen([*tree.launcher(path), *argv], stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_process_is_inside_from_its_start(
    tree: CgroupTree, top: str, run_in: Callable[..., subprocess.Popen[str]]
) -> None:
    tree.create(f"{top}/pod/x")
    process = run_in(f"{top}/pod/x", "sleep", "60")
    assert eventually(lambda: tree.pids(f"{top}/pod/x") == (process.pid,))
    assert eventually(lambda: Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n")  # the very same pid
    assert tree.memory_path(process.pid) == f"{top}/pod/x"
    assert [one.path for one in tree.cpu_path(process.pid)] == [f"{top}/pod/x", f"{top}/pod", top, "/"]


def test_a_quota_on_the_parent_throttles_and_shows_there(
    tree: CgroupTree, top: str, run_in: Callable[..., subprocess.Popen[str]]
) -> None:
    tree.create(f"{top}/pod/x")
    tree.set_cpu_quota(f"{top}/pod", 10_000)
    assert tree.cpu(f"{top}/pod").quota_us == 10_000
    process = run_in(f"{top}/pod/x", "sh", "-c", "while :; do :; done")
    assert eventually(lambda: tree.cpu(f"{top}/pod").throttled_periods >= 3)
    own, parent, *_ = tree.cpu_path(process.pid)
    assert own.throttled_periods == 0
    assert parent.throttled_s > 0
    assert own.usage_s > 0
    assert parent.periods >= parent.throttled_periods


def test_the_old_quota_comes_back_as_it_was(tree: CgroupTree, top: str) -> None:
    tree.create(f"{top}/pod")
    file, content = tree.cpu_quota_file(f"{top}/pod")
    tree.set_cpu_quota(f"{top}/pod", 20_000)
    Path(file).write_text(content)
    assert tree.cpu(f"{top}/pod").quota_us is None
    assert tree.cpu_quota_file(f"{top}/pod") == (file, content)


def test_a_memory_limit_is_hit_by_those_below(
    tree: CgroupTree, top: str, run_in: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    tree.create(f"{top}/pod/x")
    tree.set_memory_limit(f"{top}/pod", 24 * MB)
    writer = run_in(f"{top}/pod/x", "dd", "if=/dev/zero", f"of={tmp_path}/file", "bs=1M", "count=48")
    writer.wait(timeout=60)
    reading = tree.memory(f"{top}/pod")
    assert reading.hits > 0
    assert reading.limit_bytes == 24 * MB
    assert 0 < reading.cache_bytes <= reading.usage_bytes <= 24 * MB
    sleeper = run_in(f"{top}/pod/x", "sleep", "60")
    assert eventually(lambda: tree.memory_limited(sleeper.pid)[:1] == (f"{top}/pod",))
    assert tree.reclaim(f"{top}/pod", 10.0).finished
    assert tree.memory(f"{top}/pod").cache_bytes < reading.cache_bytes


def test_a_cgroup_with_a_process_is_not_removed(
    tree: CgroupTree, top: str, run_in: Callable[..., subprocess.Popen[str]]
) -> None:
    tree.create(f"{top}/pod")
    process = run_in(f"{top}/pod", "sleep", "60")
    assert eventually(lambda: tree.pids(f"{top}/pod") == (process.pid,))
    with pytest.raises(ChaoslatError, match="refused"):
        tree.remove(top)
    process.kill()
    process.wait()
    assert eventually(lambda: tree.pids(f"{top}/pod") == ())
    tree.remove(top)
    assert not tree.exists(top)


def test_leaked_cgroups_stay_until_their_pages_go(tree: CgroupTree, top: str, volume: Path) -> None:
    parent, count = f"{top}/kubepods/db", 1_200
    tree.create(f"{parent}/mysqld")
    assert leak(tree, parent, 200, volume) == 200
    assert leak(tree, parent, count - 200, volume) == count
    # The node's count may hold others' as well, so it is looked at from below; the parent's memory is ours alone.
    assert tree.count_memory_cgroups().dying >= count
    assert tree.memory(parent).shmem_bytes == count * os.sysconf("SC_PAGE_SIZE")
    assert tree.memory(parent).kernel_bytes > count * LEAST_BYTES
    assert not tree.exists(f"{parent}/leaving")
    assert tree.reclaim(parent, 0.5).dying_after >= count  # they cannot be reclaimed
    unleak(volume)
    assert leaked(volume) == 0
    assert eventually(lambda: tree.memory(parent).kernel_bytes < count * LEAST_BYTES / 10)
    assert tree.memory(parent).shmem_bytes == 0


def test_reclaim_against_what_cannot_be_reclaimed_is_bounded(
    tree: CgroupTree, top: str, volume: Path, run_in: Callable[..., subprocess.Popen[str]]
) -> None:
    tree.create(f"{top}/pod")
    run_in(f"{top}/pod", "dd", "if=/dev/zero", f"of={volume}/pinned", "bs=1M", "count=16").wait(timeout=60)
    assert tree.memory(f"{top}/pod").shmem_bytes == 16 * MB
    result = tree.reclaim(f"{top}/pod", 0.3)
    assert result.took_s < 10  # the bound, and whatever a busy machine adds
    assert tree.memory(f"{top}/pod").shmem_bytes == 16 * MB
    (volume / "pinned").unlink()


@pytest.fixture
def unified() -> V2Tree:
    """The unified hierarchy even where version 1 has the controllers: making, entering and killing are the same."""
    found = parse_mountinfo(Path("/proc/self/mountinfo").read_text(), Path("/"))
    mounted = [one for one in found if one.version == 2]
    if not mounted:
        pytest.skip("no unified hierarchy is mounted")
    return V2Tree(mounted[-1], Path("/proc"))


def test_the_unified_hierarchy_takes_processes(unified: V2Tree) -> None:
    top = scoped(new_run_id())
    (directory,) = unified.directories(top)
    process = None
    try:
        unified.create(f"{top}/pod/x")
        process = subprocess.Popen([*unified.launcher(f"{top}/pod/x"), "sleep", "60"])
        assert eventually(lambda: unified.pids(f"{top}/pod/x") == (process.pid,))
        assert [one.path for one in unified.cpu_path(process.pid)] == [f"{top}/pod/x", f"{top}/pod", top, "/"]
        empty_and_remove(Path(directory))
        assert process.wait(timeout=10) == -9
        assert not unified.exists(top)
    finally:
        empty_and_remove(Path(directory))
        if process is not None:
            process.kill()
            process.wait()
