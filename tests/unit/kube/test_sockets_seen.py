"""Shots of an app's sockets, as a debug container in a real pod printed them."""

from __future__ import annotations

import os
import subprocess
from itertools import pairwise

import pytest

from chaoslat.backends.pods.sockets import SCRIPT, Destination, from_whole, of_processes, shots
from chaoslat.kube.follow import Line, stamped
from tests.kube_recordings import read

ONCE = read("sockets_once.txt").splitlines()
LOG = [stamped(text) for text in read("sockets_monitor.txt").splitlines()]


def plain(lines):
    return [Line(0.0, text) for text in lines]


class TestOnce:
    def test_the_apps_connections_to_its_database(self) -> None:
        (shot,) = shots(plain(ONCE))
        assert len(shot.sockets) == len(ONCE) - 1
        assert {one.peer.rpartition(":")[2] for one in shot.sockets} == {"3306"}
        assert all(0 < one.minrtt_ms <= one.rtt_ms + one.rttvar_ms + 1 for one in shot.sockets)

    def test_not_those_of_the_debug_container(self) -> None:
        """The processes that a shot names are the app's: none, none is seen."""
        assert of_processes(ONCE[:-1], [99_999]) == ()

    def test_a_socket_that_a_fork_shares_is_one(self) -> None:
        (pid,) = map(int, ONCE[-1].split()[1:])
        shared = [line.replace(f"pid={pid},", f'pid=99,fd=3),("fork",pid={pid},') for line in ONCE[:-1]]
        assert of_processes(shared, [pid, 99]) == of_processes(ONCE[:-1], [pid])

    def test_no_connection_is_a_shot_too(self) -> None:
        (shot,) = shots(plain(["end 1"]))
        assert shot.sockets == ()


class TestMonitor:
    def test_a_shot_a_second(self) -> None:
        seen = list(shots(from_whole(LOG)))
        assert len(seen) > 3
        assert all(shot.sockets for shot in seen)
        assert all(0.9 < later.at_s - earlier.at_s < 2 for earlier, later in pairwise(seen))

    @pytest.mark.parametrize("begin", range(0, len(LOG), 5))
    def test_one_that_began_before_we_looked_does_not_count(self, begin: int) -> None:
        whole = {shot.at_s: shot for shot in shots(from_whole(LOG))}
        for shot in shots(from_whole(LOG[begin:])):
            assert shot == whole[shot.at_s]

    def test_one_that_has_not_ended_does_not_count(self) -> None:
        ends = [at for at, line in enumerate(LOG) if line.text.startswith("end")]
        assert list(shots(LOG[: ends[-1]])) == list(shots(LOG[: ends[-2] + 1]))


class TestDestination:
    @pytest.mark.parametrize(
        ("destination", "words"),
        [
            (Destination(3306, "10.96.1.2"), ("dst", "10.96.1.2:3306")),
            (Destination(3306, "fd00::2"), ("dst", "[fd00::2]:3306")),
            (Destination(5432), ("dport", "=", ":5432")),
        ],
    )
    def test_in_the_words_of_ss(self, destination, words) -> None:
        assert destination.filter == words
        assert destination.command("once")[-len(words) :] == words

    def test_a_name_is_no_address(self) -> None:
        with pytest.raises(ValueError):
            _ = Destination(3306, "database").filter


class TestScript:
    """By the shell of this machine, with a double of ss first in its path."""

    @pytest.fixture
    def run(self, tmp_path):
        ss = tmp_path / "ss"
        ss.write_text('#!/bin/sh\necho "$@"\n')
        ss.chmod(0o755)

        def run(mode, *words):
            path = f"{tmp_path}:{os.environ['PATH']}"
            argv = ["sh", "-c", SCRIPT.read_text(), "sockets", mode, *words]
            return subprocess.run(
                argv, capture_output=True, text=True, env={"PATH": path}, timeout=10, check=False
            )

        return run

    def test_asks_for_one_line_a_socket_with_its_owner(self, run) -> None:
        """Where process 1 may be traced; where not, it says what is missing, and shows nothing as if it were all."""
        done = run("once", "dst", "10.0.0.1:3306")
        if done.returncode:
            assert ("SYS_PTRACE" in done.stderr, done.stdout) == (True, "")
            return
        first, last = done.stdout.splitlines()
        assert first == "-tinpHO state established dst 10.0.0.1:3306"
        assert last.split()[0] == "end"
        assert str(os.getpid()) not in last.split()[1:]  # it shares our mounts, as ss itself would

    def test_syntax(self) -> None:
        assert subprocess.run(["sh", "-n", str(SCRIPT)], check=False).returncode == 0
