"""The queue of a detour, with a pipe in a TUN device's place."""

import os
import time

import pytest

from chaoslat.backends.local.relay import Queue


@pytest.fixture
def pipes():
    """Two pipes: (read end, write end) each, neither of which blocks."""
    made = [os.pipe(), os.pipe()]
    for end in (end for pipe in made for end in pipe):
        os.set_blocking(end, False)
    yield made
    for end in (end for pipe in made for end in pipe):
        os.close(end)


def test_packets_are_under_way_for_the_delay_and_keep_their_order(pipes):
    (source, into), (out, target) = pipes
    queue = Queue(target, 0.05)
    os.write(into, b"first")
    began_s = time.monotonic()
    queue.take(source)
    os.write(into, b"second")
    queue.take(source)
    assert began_s + 0.05 <= queue.deliver() < began_s + 1.0
    with pytest.raises(BlockingIOError):
        os.read(out, 100)
    time.sleep(0.06)
    assert queue.deliver() == float("inf")
    assert os.read(out, 100) == b"firstsecond"


def test_a_device_that_takes_no_more_loses_the_packet_and_nothing_else(pipes):
    (source, into), (_, target) = pipes
    os.write(into, b"lost")
    queue = Queue(target, 0.0)
    queue.take(source)
    while True:  # fill it
        try:
            os.write(target, b"x" * 4096)
        except BlockingIOError:
            break
    assert queue.deliver() == float("inf")
