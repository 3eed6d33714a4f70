"""What every backend has to keep to when it makes a system, and when that is broken off. Real.

Apart from test_backend, whose system lives until its last test: a private container engine runs once at a time.
"""

import asyncio
import os
import subprocess
import sys

import pytest

from chaoslat.custody import MachineCustody
from chaoslat.errors import ChaoslatError
from tests.chaos.leftovers import gone_within

pytestmark = [pytest.mark.chaos, pytest.mark.asyncio(loop_scope="module")]


async def test_a_creation_that_fails_leaves_nothing(backend):
    custody = MachineCustody()
    run_id = custody.open_run()

    def progress(line):
        if "app" in line:
            raise ChaoslatError("the screen is gone")

    with pytest.raises(ChaoslatError):
        await backend.create(run_id, progress)
    assert gone_within(run_id, 5) == []


async def test_a_creation_that_is_cancelled_leaves_nothing(backend):
    run_id = MachineCustody().open_run()
    begun, loop = asyncio.Event(), asyncio.get_running_loop()
    creation = asyncio.create_task(backend.create(run_id, lambda line: loop.call_soon_threadsafe(begun.set)))
    await begun.wait()
    creation.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creation
    assert gone_within(run_id, 5) == []


KILLED = """
import asyncio, os, sys
from chaoslat import backends
from chaoslat.custody import MachineCustody
lines = []
def progress(line):
    lines.append(line)
    if len(lines) == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
run_id = MachineCustody().open_run()
print(run_id, flush=True)
asyncio.run(backends.get(sys.argv[1]).create(run_id, progress))
os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("at_line", [1, 2, 3, 99])
async def test_a_creation_that_is_killed_is_healed_by_the_reaper(backend, at_line):
    argv = [sys.executable, "-c", KILLED, backend.name, str(at_line)]
    done = await asyncio.to_thread(subprocess.run, argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == -9, done.stderr
    run_id = done.stdout.strip()
    assert await asyncio.to_thread(gone_within, run_id, 15) == []


async def test_a_part_that_dies_is_named_with_its_last_words(backend, tmp_path):
    """Last, and on a system of its own: it is lost."""
    system = await backend.create(MachineCustody().open_run(), lambda line: None)
    try:
        os.kill(system.info.pids["app"], 9)
        async with asyncio.timeout(5):  # the kernel needs a moment
            while not (lost := await system.lost()):  # noqa: ASYNC110 - no event says so
                await asyncio.sleep(0.05)
        assert len(lost) == 1
        assert lost[0].startswith("app has died")
        assert await system.check() == lost
        with pytest.raises(ChaoslatError, match="app has died"):
            await system.operator.pool()
    finally:
        await system.destroy()
    assert gone_within(system.info.run_id, 5) == []
