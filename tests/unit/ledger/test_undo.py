"""Each kind of undo that needs no privileges: it does what the entry names, twice, and nothing else."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaoslat.errors import ChaoslatError
from chaoslat.ledger.ledger import Entry, JsonValue
from chaoslat.ledger.owner import start_ticks
from chaoslat.ledger.undo import UNDO, undo
from tests.unit.ledger.conftest import RUN


def entry(kind: str, **args: JsonValue) -> Entry:
    return Entry(1, kind, args, RUN)


class TestFile:
    def test_the_old_content_is_written_back(self, tmp_path: Path) -> None:
        file = tmp_path / "cpu.max"
        file.write_text("20000 100000 and much longer")
        for _ in range(2):
            undo(entry("file", path=str(file), content="max 100000"))
            assert file.read_text() == "max 100000"

    def test_a_file_that_is_gone_is_not_made(self, tmp_path: Path) -> None:
        undo(entry("file", path=str(tmp_path / "gone"), content="x"))
        undo(entry("file", path=str(tmp_path / "gone" / "too"), content="x"))
        assert list(tmp_path.glob("gone*")) == []


class TestTree:
    def test_a_folder_of_the_run_goes(self, tmp_path: Path) -> None:
        folder = tmp_path / f"chaoslat-{RUN}"
        (folder / "a" / "b").mkdir(parents=True)
        for _ in range(2):
            undo(entry("tree", path=str(folder)))
            assert not folder.exists()
        assert tmp_path.exists()

    def test_a_folder_inside_one_of_the_run_goes(self, tmp_path: Path) -> None:
        folder = tmp_path / f"chaoslat-{RUN}" / "volumes"
        folder.mkdir(parents=True)
        undo(entry("tree", path=str(folder)))
        assert [path.name for path in tmp_path.iterdir()] == [f"chaoslat-{RUN}"]

    @pytest.mark.parametrize("name", ["chaoslat-11111111", "other", f"chaoslat-{RUN}-x", f"x{RUN}"])
    def test_a_folder_that_does_not_carry_the_run_stays(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).mkdir()
        with pytest.raises(ChaoslatError, match="not undone"):
            undo(entry("tree", path=str(tmp_path / name)))
        assert (tmp_path / name).exists()

    def test_no_way_leads_out_of_the_run(self, tmp_path: Path) -> None:
        (tmp_path / f"chaoslat-{RUN}").mkdir()
        with pytest.raises(ChaoslatError):
            undo(entry("tree", path=f"{tmp_path}/chaoslat-{RUN}/.."))
        assert tmp_path.exists()

    def test_what_a_link_in_it_leads_to_stays(self, tmp_path: Path) -> None:
        folder = tmp_path / f"chaoslat-{RUN}"
        folder.mkdir()
        (tmp_path / "others").mkdir()
        (tmp_path / "others" / "file").touch()
        (folder / "link").symlink_to(tmp_path / "others")
        undo(entry("tree", path=str(folder)))
        assert (tmp_path / "others" / "file").exists()


class TestProcess:
    def test_it_is_killed_and_may_be_gone(self) -> None:
        child = subprocess.Popen(["sleep", "60"])
        ticks = start_ticks(child.pid)
        undo(entry("process", pid=child.pid, start_ticks=ticks))
        assert child.wait(timeout=10) == -9
        undo(entry("process", pid=child.pid, start_ticks=ticks))

    def test_another_process_of_its_number_lives(self) -> None:
        child = subprocess.Popen(["sleep", "60"])
        try:
            undo(entry("process", pid=child.pid, start_ticks=(start_ticks(child.pid) or 0) - 1))
            assert child.poll() is None
        finally:
            child.kill()
            child.wait()


class Server(http.server.HTTPServer):
    """Answers with `status`, and keeps what it was asked."""

    status = 204
    asked: list[tuple[str, str, bytes]]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, body))
        self.send_response(self.server.status)
        self.end_headers()

    do_DELETE = do_PUT = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as found:
        found.asked = []
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def url(server: Server) -> str:
    return f"http://127.0.0.1:{server.server_port}/admin/pool"


class TestHttp:
    def test_the_request_is_sent(self, server: Server) -> None:
        undo(entry("http", method="PUT", url=url(server), body='{"max": 10}', gone=[]))
        assert server.asked == [("PUT", "/admin/pool", b'{"max": 10}')]

    def test_an_answer_that_says_gone_is_fine(self, server: Server) -> None:
        server.status = 404
        undo(entry("http", method="DELETE", url=url(server), body=None, gone=[404]))
        assert len(server.asked) == 1

    def test_any_other_refusal_is_not(self, server: Server) -> None:
        server.status = 500
        with pytest.raises(ChaoslatError, match="not undone"):
            undo(entry("http", method="DELETE", url=url(server), body=None, gone=[404]))

    def test_nobody_there_is_fine(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # bound and not listening: refused
            undo(entry("http", method="DELETE", url=f"http://127.0.0.1:{taken.getsockname()[1]}/x"))

    def test_somebody_who_does_not_answer_is_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from chaoslat.ledger import undo_http

        monkeypatch.setattr(undo_http, "DEADLINE_S", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            with pytest.raises(ChaoslatError, match="not undone"):
                undo(entry("http", method="DELETE", url=f"http://127.0.0.1:{port}/x"))


def test_names_of_others_are_refused() -> None:
    for kind, args in (
        ("netns", {"name": "other"}),
        ("link", {"name": "eth0"}),
        ("mount", {"path": "/"}),
        ("cgroup", {"paths": ["/sys/fs/cgroup/memory"]}),
    ):
        with pytest.raises(ChaoslatError, match="not undone"):
            undo(Entry(1, kind, args, RUN))  # type: ignore[arg-type]


def test_what_never_was_is_undone_already(tmp_path: Path) -> None:
    own = f"{tmp_path}/chaoslat-{RUN}"
    undo(entry("netns", name=f"chaoslat-{RUN}"))
    undo(entry("link", name=f"cl{RUN}h"))
    undo(entry("mount", path=own))
    undo(entry("cgroup", paths=[own]))
    assert not os.path.lexists(own)


@pytest.mark.parametrize("kind", sorted(UNDO))
def test_an_entry_without_its_arguments_is_a_plain_error(kind: str) -> None:
    with pytest.raises(ChaoslatError, match="not undone"):
        undo(Entry(1, kind, {}, RUN))


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ChaoslatError) as caught:
        undo(entry("spell"))
    assert "cgroup" in caught.value.why


def test_a_third_party_may_add_a_kind() -> None:
    seen: list[Entry] = []
    undo(entry("spell", word="x"), {**UNDO, "spell": seen.append})
    assert seen == [entry("spell", word="x")]
