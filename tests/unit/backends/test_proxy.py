"""The wrapper around toxiproxy-python, against a server made for the test that answers as Toxiproxy does, or badly."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from chaoslat.backends.local.proxy import LATENCY, Toxiproxy
from chaoslat.errors import ChaoslatError, SystemLost


class Server(ThreadingHTTPServer):
    """A test double of a Toxiproxy server with one proxy. `drops`: an attribute that it takes as 0."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.toxics: dict[str, dict[str, Any]] = {}
        self.drops, self.fails = "", False
        self.asked: list[str] = []

    def proxy(self) -> dict[str, Any]:
        return {"name": "mysql", "listen": "127.0.0.1:1", "upstream": "up:1", "enabled": True, "toxics": []}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(500 if self.server.fails else status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one_request(self) -> None:
        super().handle_one_request()
        if getattr(self, "command", None):
            self.server.asked.append(f"{self.command} {self.path}")

    def do_GET(self) -> None:
        if self.path == "/proxies":
            self.answer(200, {"mysql": self.server.proxy()})
        elif self.path == "/version":
            self.answer(200, {"version": "2.12.0"})
        else:
            self.answer(200, list(self.server.toxics.values()))

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        sent.setdefault("name", self.path.rpartition("/")[2])
        attributes = {
            key: 0 if key == self.server.drops else value for key, value in sent["attributes"].items()
        }
        known = self.server.toxics.get(sent["name"], {})
        self.server.toxics[sent["name"]] = {"type": "latency", **known, **sent, "attributes": attributes}
        self.answer(200, self.server.toxics[sent["name"]])

    def do_DELETE(self) -> None:
        self.server.toxics.pop(self.path.rpartition("/")[2], None)
        self.answer(204, None)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def toxiproxy(server: Server) -> Toxiproxy:
    return Toxiproxy(server.server_address[1])


def test_sets_changes_and_removes_a_latency(server: Server, toxiproxy: Toxiproxy) -> None:
    toxiproxy.set_latency("mysql", 20, 5)
    assert toxiproxy.toxics("mysql") == {LATENCY: {"latency": 20, "jitter": 5}}
    toxiproxy.set_latency("mysql", 30, 0)
    assert toxiproxy.toxics("mysql") == {LATENCY: {"latency": 30, "jitter": 0}}
    toxiproxy.remove_latency("mysql")
    toxiproxy.remove_latency("mysql")
    assert toxiproxy.toxics("mysql") == {}


def test_a_change_is_an_update_in_place(server: Server, toxiproxy: Toxiproxy) -> None:
    """Removing and adding it again would leave a moment without delay."""
    toxiproxy.set_latency("mysql", 20, 0)
    toxiproxy.set_latency("mysql", 30, 0)
    assert not any(line.startswith("DELETE") for line in server.asked)


def test_an_attribute_that_the_server_took_as_zero_is_an_error(server: Server, toxiproxy: Toxiproxy) -> None:
    server.drops = "latency"
    with pytest.raises(SystemLost, match="reads back as"):
        toxiproxy.set_latency("mysql", 20, 0)


@pytest.mark.parametrize(("latency_ms", "jitter_ms"), [(10, 11), (-1, 0), (10, -1)])
def test_a_jitter_that_would_undo_the_latency_is_refused(
    toxiproxy: Toxiproxy, latency_ms: int, jitter_ms: int
) -> None:
    with pytest.raises(ChaoslatError, match="undelayed"):
        toxiproxy.set_latency("mysql", latency_ms, jitter_ms)


def test_a_status_of_500_is_raised(server: Server, toxiproxy: Toxiproxy) -> None:
    server.fails = True
    with pytest.raises(SystemLost, match="500"):
        toxiproxy.toxics("mysql")


def test_an_unknown_proxy_is_named(toxiproxy: Toxiproxy) -> None:
    with pytest.raises(SystemLost, match="no proxy 'postgres'"):
        toxiproxy.set_latency("postgres", 20, 0)
    assert not toxiproxy.enabled("postgres")
    assert toxiproxy.enabled("mysql")


def test_no_server_is_a_plain_error(server: Server) -> None:
    absent = Toxiproxy(1)
    with pytest.raises(SystemLost, match="does not answer"):
        absent.version()


def test_two_servers_in_one_process_do_not_get_mixed_up(server: Server, toxiproxy: Toxiproxy) -> None:
    """The library keeps host and port in its class: one pair for all."""
    Toxiproxy(1)
    assert toxiproxy.version() == "2.12.0"


def test_somebody_elses_use_of_the_library_is_left_alone(toxiproxy: Toxiproxy) -> None:
    before = sys.modules.get("toxiproxy")
    toxiproxy.version()
    assert sys.modules.get("toxiproxy") is before


def test_the_environments_http_proxy_is_not_asked(
    toxiproxy: Toxiproxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "")
    assert toxiproxy.version() == "2.12.0"
