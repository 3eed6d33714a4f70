"""Processes of a run: told from their successors, waited for with a deadline, explained when they die."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chaoslat.backends.local.parts import Children, NotYet, Part, wait_for
from chaoslat.errors import SystemLost


@pytest.fixture
def children() -> Iterator[Children]:
    made = Children()
    yield made
    for process in made.processes:
        process.kill()
    made.collect()


def start(children: Children, tmp_path: Path, script: str) -> Part:
    return children.start("part", ["/bin/sh", "-c", script], tmp_path / "part.log", {}, tmp_path)


def test_a_running_part_is_alive_and_a_later_process_of_its_number_is_not_it(
    children: Children, tmp_path: Path
) -> None:
    part = start(children, tmp_path, "exec sleep 60")
    assert part.alive
    assert not replace(part, start_ticks=part.start_ticks + 1).alive


def test_a_zombie_is_dead(children: Children, tmp_path: Path) -> None:
    part = start(children, tmp_path, "exit 1")
    children.processes[0].wait()
    assert not part.alive


def test_it_leads_a_session_of_its_own(children: Children, tmp_path: Path) -> None:
    """Ctrl-C in a terminal goes to the session's processes; this one must live until it is undone."""
    part = start(children, tmp_path, "exec sleep 60")
    session = int(Path(f"/proc/{part.pid}/stat").read_text().rpartition(")")[2].split()[3])
    assert session == part.pid


def test_a_program_that_is_missing_is_a_plain_error(children: Children, tmp_path: Path) -> None:
    with pytest.raises(SystemLost, match="cannot be started"):
        children.start("part", ["/nowhere/program"], tmp_path / "part.log", {}, tmp_path)


def test_waiting_ends_with_what_the_attempt_gives(children: Children, tmp_path: Path) -> None:
    part = start(children, tmp_path, "echo ready; exec sleep 60")

    def ready() -> str:
        text = Path(part.log).read_text()
        if not text:
            raise NotYet("silent")
        return text

    assert wait_for(part, "its line", ready, 10.0) == "ready\n"


def test_a_part_that_dies_while_waited_for_says_its_last_words(children: Children, tmp_path: Path) -> None:
    part = start(children, tmp_path, "echo the disk is full >&2; exit 1")

    def never() -> None:
        raise NotYet("silent")

    with pytest.raises(SystemLost, match="has died") as caught:
        wait_for(part, "its line", never, 10.0)
    assert caught.value.why == "the disk is full"


def test_the_deadline_names_what_was_missing(children: Children, tmp_path: Path) -> None:
    part = start(children, tmp_path, "exec sleep 60")

    def never() -> None:
        raise NotYet("port 0 is closed")

    with pytest.raises(SystemLost, match="did not happen within 0 s") as caught:
        wait_for(part, "its port", never, 0.1)
    assert caught.value.why.startswith("port 0 is closed")


def test_an_error_of_the_attempt_is_not_hidden(children: Children, tmp_path: Path) -> None:
    part = start(children, tmp_path, "exec sleep 60")

    def broken() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        wait_for(part, "its line", broken, 10.0)
