"""What is seen from beside the app: a debug container in its pod, with the sockets' monitor and a prober in it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from chaoslat.backends.pods import beside_agent
from chaoslat.backends.pods.place import Place
from chaoslat.backends.pods.sockets import Destination, SocketWatch
from chaoslat.errors import NotHere, SystemLost
from chaoslat.kube.client import KubeClient
from chaoslat.kube.converse import Conversation
from chaoslat.model import FreshConnect, NoopSample, SocketInfo
from chaoslat.probes import prober, statements
from chaoslat.probes.fresh_connect import TRIES, min_rtt_ms
from chaoslat.probes.mysql import MysqlAddress, MysqlSession, Row
from chaoslat.probes.noop import GAP_MS, server_mean_ms

_NOOP_DIGEST = "DO ?"
NO_LOGIN = "nobody gave a login to the database (--database-user and its password)"


@dataclass(frozen=True, slots=True)
class Tools:
    """The image of the debug container; `pull`: Always, IfNotPresent or Never."""

    image: str
    pull: str = "IfNotPresent"


class Beside:
    """The debug container in one pod. It stays in the pod until that is replaced; what runs in it ends with us."""

    def __init__(
        self,
        kube: KubeClient,
        place: Place,
        database: MysqlAddress,
        tools: Tools,
        session: MysqlSession | None = None,
    ) -> None:
        """`database`: as the app knows it, name or address; `user` empty: nobody may log in. `session`: another way
        in to its statistics; without it they are asked for from there. Raises SystemLost."""
        self._database = database
        pod, container = place.name, place.container
        destination = Destination(database.port)
        self._watch = SocketWatch(kube, pod, container, destination, tools.image, tools.pull)
        argv = ("python3", "-I", "-c", _source(beside_agent), _source(prober))
        self._prober = Conversation(kube, pod, self._watch.name, argv)
        self._session = session or (_Session(self) if database.user else None)
        self._greeted = False

    @property
    def session(self) -> MysqlSession:
        """Statements to the database from there. Raises NotHere without a login."""
        if self._session is None:
            raise NotHere(NO_LOGIN)
        return self._session

    def sockets(self) -> tuple[SocketInfo, ...]:
        """The latest shot of the monitor, at most two seconds old; the first is taken by hand. Raises SystemLost."""
        shots = self._watch.monitor()
        return shots[-1].sockets if shots else self._watch.once()

    def fresh_connect(self) -> FreshConnect:
        """The quickest of three, as the probe of that name. Raises SystemLost."""
        best = min((self.ask({"connect": True}) for _ in range(TRIES)), key=lambda seen: seen["connect_ms"])
        minrtt_ms = min_rtt_ms(bytes.fromhex(best["tcp_info"]))
        return FreshConnect(f"{self._database.host}:{self._database.port}", best["connect_ms"], minrtt_ms)

    def noop(self, count: int) -> NoopSample:
        """Round trips and the server's own time. Raises NotHere without a login, SystemLost."""
        before = self._noop_digest()
        trips = self.ask({"noop": count, "gap_ms": GAP_MS})["round_trip_ms"]
        return NoopSample(tuple(map(float, trips)), server_mean_ms(before, self._noop_digest()))

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Raises SystemLost when there is no answer, or it is an error."""
        answer = self.answer(question)
        if "error" in answer:
            raise SystemLost(
                "The prober beside the app gives no figures",
                where=self._prober.where,
                why=str(answer["error"]),
            )
        return answer

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """The same with errors as the prober words them."""
        if not self._greeted:
            self._prober.ask(_login(self._database))
            self._greeted = True
        return self._prober.ask(question)

    def close(self, stop: bool) -> None:
        """End the prober; `stop`: the monitor too, and the container with it."""
        self._prober.close()
        if stop:
            self._watch.stop()
        self._watch.close()

    def _noop_digest(self) -> Any:
        seen = statements(self.session, None)
        return next((stats for stats in seen if stats.digest_text == _NOOP_DIGEST), None)


class Later:
    """Made when it is first asked for. `stop`: whether the container ends with us."""

    def __init__(self, make: Callable[[], Beside], *, stop: bool) -> None:
        self._make, self._stop = make, stop
        self._lock = threading.Lock()
        self._made: Beside | None = None

    def get(self) -> Beside:
        with self._lock:
            self._made = self._made or self._make()
            return self._made

    def close(self) -> None:
        """May be called twice; a pod that is gone has nothing to be ended."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            with suppress(SystemLost):
                made.close(self._stop)


class _Session(MysqlSession):
    """A session whose statements run beside the app."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside

    def rows(self, sql: str, args: Sequence[object] = (), deadline_s: float = 10.0) -> list[Row]:
        answer = self._beside.answer({"sql": sql, "args": list(args)})
        if "error" not in answer:
            return [tuple(row) for row in answer["rows"]]
        code = str((answer["args"] or [""])[0])
        if code.isdigit() and 1000 <= int(code) < 2000:
            raise pymysql.OperationalError(int(code), answer["args"][-1])
        raise SystemLost(
            "The database does not answer beside the app", where=sql[:60], why=str(answer["error"])
        )

    def close(self) -> None:
        """It is the beside's to close."""


def _login(database: MysqlAddress) -> dict[str, Any]:
    return {name: getattr(database, name) for name in ("host", "port", "user", "password")}


def _source(module: Any) -> str:
    return Path(module.__file__).read_text()
