"""Wake-ups: never early, once per setting, on either kind of timer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from chaoslat.load import timer
from chaoslat.load.timer import LoopWakeup, TimerfdWakeup, Wakeup, make_wakeup

Make = Callable[[asyncio.AbstractEventLoop, Callable[[], None]], Wakeup]
KINDS = pytest.mark.parametrize("make", [TimerfdWakeup, LoopWakeup], ids=["timerfd", "loop"])


async def fired_ns(make: Make, *offsets_ns: int) -> list[tuple[int, int]]:
    """(due, fired) for each due time now + offset."""
    loop, seen = asyncio.get_running_loop(), []
    fired = asyncio.Event()
    wakeup = make(loop, fired.set)
    for offset_ns in offsets_ns:
        due_ns = time.monotonic_ns() + offset_ns
        wakeup.at(due_ns)
        await asyncio.wait_for(fired.wait(), 5)
        seen.append((due_ns, time.monotonic_ns()))
        fired.clear()
    wakeup.close()
    return seen


@KINDS
async def test_comes_when_due_and_not_before(make: Make) -> None:
    seen = await fired_ns(make, 3_000_000, 20_000_000, 1_300_000)
    assert len(seen) == 3
    # asyncio's own timers may fire one clock tick early; the generator looks at the clock again then.
    assert all(fired_at >= due - 1_000 for due, fired_at in seen)


@KINDS
async def test_a_time_that_has_passed_comes_at_once(make: Make) -> None:
    begin_ns = time.monotonic_ns()
    await fired_ns(make, -1_000_000, -(10**12), -time.monotonic_ns())
    assert time.monotonic_ns() - begin_ns < 2 * 10**9


@KINDS
async def test_the_last_setting_counts(make: Make) -> None:
    calls: list[int] = []
    wakeup = make(asyncio.get_running_loop(), lambda: calls.append(time.monotonic_ns()))
    now_ns = time.monotonic_ns()
    wakeup.at(now_ns + 5_000_000)
    wakeup.at(now_ns + 40_000_000)
    await asyncio.sleep(0.1)
    wakeup.close()
    assert len(calls) == 1
    assert calls[0] >= now_ns + 40_000_000 - 1_000


@KINDS
async def test_closed_means_silent(make: Make) -> None:
    calls: list[None] = []
    wakeup = make(asyncio.get_running_loop(), lambda: calls.append(None))
    wakeup.at(time.monotonic_ns() + 5_000_000)
    wakeup.close()
    await asyncio.sleep(0.03)
    assert not calls


async def test_falls_back_to_loop_timers_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise AttributeError("undefined symbol: timerfd_create")

    monkeypatch.setattr(timer.TimerfdWakeup, "__init__", missing)
    said: list[str] = []
    wakeup = make_wakeup(asyncio.get_running_loop(), lambda: None, warn=said.append)
    assert wakeup.kind == "loop"
    assert "undefined symbol" in said[0]


async def test_uses_what_was_asked_for() -> None:
    loop = asyncio.get_running_loop()
    for wanted in ("timerfd", "loop"):
        wakeup = make_wakeup(loop, lambda: None, wanted=wanted, warn=pytest.fail)
        assert wakeup.kind == wanted
        wakeup.close()
