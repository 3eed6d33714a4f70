"""What a leaked cgroup charges is measured beside a server that takes and gives memory back meanwhile."""

from chaoslat.backends.local.memory import SAMPLE, _charged_bytes
from chaoslat.cgroup.base import MemoryReading

COST = 18_400


def reading(usage_bytes, shmem_bytes, kernel_bytes):
    return MemoryReading(
        "pod", usage_bytes, None, 0, shmem_bytes, 50_000_000 + shmem_bytes, 150_000_000, kernel_bytes
    )


def charged(freed_bytes):
    before = reading(300_000_000, 0, 20_000_000)
    pages, kernel = 4096 * SAMPLE, (COST - 4096) * SAMPLE
    after = reading(300_000_000 + COST * SAMPLE - freed_bytes, pages, 20_000_000 + kernel)
    return _charged_bytes(before, after)


def test_a_quiet_server():
    assert charged(0) == COST * SAMPLE


def test_a_server_that_frees_memory_does_not_make_it_cheaper():
    assert charged(7_000_000) == charged(100_000_000) == COST * SAMPLE


def test_a_server_that_takes_memory_makes_it_dearer_which_errs_on_the_safe_side():
    assert charged(-1_000_000) == COST * SAMPLE + 1_000_000
