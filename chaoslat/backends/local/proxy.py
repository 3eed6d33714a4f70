"""Toxiproxy through toxiproxy-python, with that library's faults closed.

What is closed: host and port are class attributes there, one server per process (each `Toxiproxy` here works
on a copy of the library of its own); no deadlines; the environment's HTTP proxy would be asked; an HTTP
error other than 400, 404 and 409 is not raised; no call to update a toxic; `add_toxic` returns nothing, and
the server takes a misspelt attribute as 0 (everything set is read back and compared).
"""

from __future__ import annotations

import importlib.util
import json
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

import requests

from chaoslat.errors import ChaoslatError, SystemLost

T = TypeVar("T")
Attributes = dict[str, float]
DEADLINE_S = 5.0
LATENCY = "latency_downstream"


class Toxiproxy:
    """One Toxiproxy server; every call is synchronous and has a deadline. All raise `SystemLost`."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._where = f"{host}:{port}"
        self._library = _private_copy("toxiproxy", f"_chaoslat_toxiproxy_{host.replace('.', '_')}_{port}")
        self._api = self._library.api.APIConsumer
        self._api.host, self._api.port = host, port
        self._library.api.requests = _Http(self._where)
        self._server = self._library.Toxiproxy()
        self._lock = threading.Lock()

    def version(self) -> str:
        """The server's version."""
        body = str(self._call(lambda: self._api.get("/version")).text).strip()
        return str(json.loads(body)["version"]) if body.startswith("{") else body  # plain text before 2.6

    def create(self, name: str, listen: str, upstream: str) -> str:
        """Make a proxy; the address that it listens on (port 0: any)."""
        proxy = self._call(lambda: self._server.create(upstream=upstream, name=name, listen=listen))
        if proxy.upstream != upstream or not proxy.enabled:
            raise self._differs(f"proxy {name}", f"{proxy.upstream}, enabled {proxy.enabled}", upstream)
        return str(proxy.listen)

    def enabled(self, name: str) -> bool:
        """Whether the proxy exists and listens."""
        proxy = self._call(lambda: self._server.get_proxy(name))
        return proxy is not None and bool(proxy.enabled)

    def toxics(self, name: str) -> dict[str, Attributes]:
        """The toxics on a proxy, read from the server: name -> attributes."""
        found = self._call(lambda: self._proxy(name).toxics())
        return {toxic: dict(about.attributes) for toxic, about in found.items()}

    def set_latency(self, name: str, latency_ms: int, jitter_ms: int) -> None:
        """Delay the replies of proxy `name`, on open connections too; an existing delay is changed in place.

        Raises ChaoslatError for a jitter larger than the latency: the server would leave requests undelayed.
        """
        if not 0 <= jitter_ms <= latency_ms:
            raise ChaoslatError(
                f"a jitter of {jitter_ms} ms on a latency of {latency_ms} ms leaves requests undelayed",
                where="latency toxic",
                fix="take a jitter between 0 and the latency",
            )
        wish = {"latency": latency_ms, "jitter": jitter_ms}
        self._call(lambda: self._put(name, LATENCY, wish))
        got = self.toxics(name).get(LATENCY)
        if got != wish:
            raise self._differs(f"toxic {LATENCY}", got, wish)

    def remove_latency(self, name: str) -> None:
        """Take the delay away; none there is fine."""
        if LATENCY in self.toxics(name):
            self._call(lambda: self._proxy(name).destroy_toxic(LATENCY))
        if LATENCY in self.toxics(name):
            raise self._differs(f"toxic {LATENCY}", "still there", "gone")

    def _put(self, name: str, toxic: str, attributes: dict[str, int]) -> None:
        proxy = self._proxy(name)
        if toxic in proxy.toxics():
            self._api.post(f"/proxies/{name}/toxics/{toxic}", json={"attributes": attributes})
        else:
            proxy.add_toxic(
                name=toxic, type="latency", stream="downstream", toxicity=1.0, attributes=attributes
            )

    def _proxy(self, name: str) -> Any:
        proxy = self._server.get_proxy(name)
        if proxy is None:
            raise SystemLost(f"Toxiproxy has no proxy {name!r}", where=self._where)
        return proxy

    def _call(self, call: Callable[[], T]) -> T:
        with self._lock:
            try:
                return call()
            except ChaoslatError:
                raise
            except (
                Exception
            ) as error:  # the library has error classes made by type(), KeyError, ValueError, ...
                said = error.args[0] if error.args else error
                why = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
                raise SystemLost("Toxiproxy refused", where=self._where, why=why.strip()) from error

    def _differs(self, what: str, got: object, wish: object) -> SystemLost:
        return SystemLost(f"{what} reads back as {got}", where=self._where, why=f"{wish} was set")


class _Http:
    """Stands in for the `requests` that the library calls: a deadline, no environment, errors raised."""

    def __init__(self, where: str) -> None:
        self._where = where

    def get(self, url: str, **options: Any) -> requests.Response:
        return self._request("GET", url, options)

    def post(self, url: str, **options: Any) -> requests.Response:
        return self._request("POST", url, options)

    def delete(self, url: str, **options: Any) -> requests.Response:
        return self._request("DELETE", url, options)

    def _request(self, method: str, url: str, options: dict[str, Any]) -> requests.Response:
        try:
            with requests.Session() as session:
                session.trust_env = False
                answer = session.request(method, url, timeout=DEADLINE_S, **options)
        except requests.RequestException as error:
            raise SystemLost("Toxiproxy does not answer", where=self._where, why=str(error)) from error
        if answer.status_code >= 400:
            why = answer.text.strip()
            raise SystemLost(
                f"Toxiproxy answers {method} {url} with {answer.status_code}", where=self._where, why=why
            )
        return answer


def _private_copy(package: str, name: str) -> ModuleType:
    """Load an installed package once more as `name`, so that its global state is not shared with anybody."""
    if name in sys.modules:
        return sys.modules[name]
    installed = importlib.util.find_spec(package)
    assert installed is not None
    assert installed.origin is not None
    spec = importlib.util.spec_from_file_location(
        name, installed.origin, submodule_search_locations=list(installed.submodule_search_locations or [])
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
