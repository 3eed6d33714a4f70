"""One kind of error for all that an API server can do to a caller; manifests that are awaited."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaoslat.errors import EnvironmentMissing, SystemLost
from chaoslat.kube import apply, client
from chaoslat.kube.client import KubeClient

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: here
clusters: [{{name: here, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: me, user: {{}}}}]
contexts: [{{name: here, context: {{cluster: here, user: me}}}}]
"""
POD = {
    "metadata": {"name": "app-1"},
    "spec": {"containers": [{"name": "app"}]},
    "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
}
READY = {**POD, "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


class DoubleOfAServer(http.server.BaseHTTPRequestHandler):
    """Answers each path as the test says, the last answer for ever."""

    answers: dict[str, list[tuple[int, object]]]

    def do_GET(self):
        left = next(left for path, left in self.answers.items() if self.path.startswith(path))
        status, body = left.pop(0) if len(left) > 1 else left[0]
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if isinstance(body, str) else "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@contextmanager
def kube_at(folder: Path, port: int):
    path = folder / "kubeconfig"
    path.write_text(KUBECONFIG.format(port=port))
    kube = KubeClient(path, "space")
    try:
        yield kube
    finally:
        kube.close()


@pytest.fixture
def serving(tmp_path):
    """Starts a server with these answers, and gives a client of it."""
    opened = []

    def serve(answers):
        handler = type("Handler", (DoubleOfAServer,), {"answers": answers})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        context = kube_at(tmp_path, server.server_port)
        opened.append((server, thread, context))
        return context.__enter__()

    yield serve
    for server, thread, context in opened:
        context.__exit__(None, None, None)
        server.shutdown()
        thread.join()
        server.server_close()


PODS = "/api/v1/namespaces/space/pods"
EVENTS = "/api/v1/namespaces/space/events"
LOG = f"{PODS}/app-1/log"


def items(*found):
    return {"kind": "List", "items": list(found)}


class TestCalls:
    def test_a_refusal_in_the_servers_own_words(self, serving) -> None:
        kube = serving({PODS: [(403, {"kind": "Status", "message": "pods is forbidden"})]})
        with pytest.raises(SystemLost, match="refused list_namespaced_pod") as raised:
            kube.call(kube.core.list_namespaced_pod, kube.namespace)
        assert raised.value.why == "pods is forbidden"

    def test_a_refusal_without_words(self, serving) -> None:
        kube = serving({PODS: [(502, "bad gateway")]})
        with pytest.raises(SystemLost) as raised:
            kube.call(kube.core.list_namespaced_pod, kube.namespace)
        assert raised.value.why.startswith("502")

    def test_nobody_listens(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and does not listen
            error = self.error_of(tmp_path, taken)
        assert str(tmp_path / "kubeconfig") in error.fix

    def test_a_server_that_stands_still_is_asked_once(self, tmp_path: Path, monkeypatch) -> None:
        """Else one deadline becomes four, since the client asks three more times by itself."""
        monkeypatch.setattr(client, "DEADLINE_S", 0.05)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            error = self.error_of(tmp_path, silent)
            silent.setblocking(False)
            silent.accept()[0].close()
            with pytest.raises(BlockingIOError):
                silent.accept()
        assert "timed out" in error.why

    @staticmethod
    def error_of(folder: Path, server: socket.socket) -> SystemLost:
        """What a call to it ends with."""
        with (
            kube_at(folder, server.getsockname()[1]) as kube,
            pytest.raises(SystemLost, match="The API server does not answer") as raised,
        ):
            kube.call(kube.core.list_namespaced_pod, kube.namespace)
        return raised.value

    @pytest.mark.parametrize("text", ["", "a: [", "apiVersion: v1\nkind: Config\n"])
    def test_a_kubeconfig_that_is_none(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "kubeconfig"
        path.write_text(text)
        with pytest.raises(EnvironmentMissing, match="The kubeconfig cannot be used") as raised:
            _ = KubeClient(path, "space").core
        assert raised.value.where == str(path)

    def test_a_kubeconfig_that_is_missing(self, tmp_path: Path) -> None:
        with pytest.raises(EnvironmentMissing, match="The kubeconfig cannot be used"):
            _ = KubeClient(tmp_path / "none", "space").core


class TestReadyPod:
    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(apply, "POLL_S", 0.001)

    def test_is_waited_for(self, serving) -> None:
        kube = serving({PODS: [(200, items()), (200, items(POD)), (200, items(READY))]})
        assert apply.ready_pod(kube, "app", 5.0).metadata.name == "app-1"

    def test_one_that_goes_does_not_count(self, serving) -> None:
        going = {**READY, "metadata": {"name": "app-0", "deletionTimestamp": "2026-12-01T00:00:00Z"}}
        kube = serving({PODS: [(200, items(going, READY))]})
        assert apply.ready_pod(kube, "app", 5.0).metadata.name == "app-1"

    def test_a_failed_rollout_is_told_with_events_and_logs(self, serving) -> None:
        event = {"reason": "BackOff", "message": "restarting failed container"}
        event |= {"metadata": {}, "involvedObject": {}}
        kube = serving(
            {
                LOG: [(200, "first\nError: no database\n")],
                EVENTS: [(200, items(event))],
                PODS: [(200, items(POD))],
            }
        )
        with pytest.raises(SystemLost, match=r"app was not ready within 0 s") as raised:
            apply.ready_pod(kube, "app", 0.01)
        assert raised.value.why.splitlines() == [
            "app-1: Pending",
            "event: BackOff: restarting failed container",
            "log: first",
            "log: Error: no database",
        ]

    def test_a_pod_without_a_log_says_why(self, serving) -> None:
        kube = serving(
            {
                LOG: [(400, {"kind": "Status", "message": "container is waiting to start"})],
                EVENTS: [(200, items())],
                PODS: [(200, items(POD))],
            }
        )
        with pytest.raises(SystemLost) as raised:
            apply.ready_pod(kube, "app", 0.01)
        assert "log: container is waiting to start" in raised.value.why
