"""What somebody asks of a diagnosis of their own workload: where it is, what may be looked at, what may be changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from chaoslat.backends.kube.workload import parse
from chaoslat.backends.pods.beside import Tools
from chaoslat.errors import UsageError
from chaoslat.load.schedule import Shape, Workload
from chaoslat.probes.mysql import MysqlAddress


@dataclass(frozen=True, slots=True)
class Target:
    """`url`: what is asked at `rate_rps` to see the symptom; the rest may be empty, and is then not here."""

    workload: str
    url: str
    namespace: str = "default"
    container: str = ""
    context: str = ""
    kubeconfig: Path | None = None
    rate_rps: float = 20.0
    metrics: str = ""
    admin: str = ""
    database: str = ""
    user: str = ""
    password: str = ""
    tools_image: str = ""
    allow: bool = False
    allow_node: bool = False

    def check(self) -> None:
        """Raises UsageError for what cannot be asked, before anything is done."""
        parse(self.workload)
        self.where()
        self.database_address()

    def where(self) -> SplitResult:
        """The parts of `url`. Raises UsageError unless it is one that the load generator can ask."""
        parts = urlsplit(self.url)
        try:
            port = parts.port or 80
        except ValueError:
            port = 0
        if parts.scheme != "http" or not parts.hostname or not port:
            raise UsageError(
                f"--url {self.url!r} cannot be asked",
                why="the load generator speaks plain http only",
                fix="as http://127.0.0.1:8080/path, through `kubectl port-forward` if need be",
            )
        return parts

    def load(self) -> Workload:
        """Requests for the one URL, at the rate."""
        parts = self.where()
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return Workload(self.rate_rps, (Shape("probe", 1.0, path),))

    def database_address(self) -> MysqlAddress | None:
        """As the app knows it; None when it was not said. Raises UsageError."""
        if not self.database:
            return None
        host, _, port = self.database.partition("/")[0].rpartition(":")
        if not host or not port.isdigit():
            raise UsageError(f"--database {self.database!r} is no address", fix="as HOST:PORT/SCHEMA")
        return MysqlAddress(host, int(port), self.user, self.password)

    @property
    def schema(self) -> str:
        return self.database.partition("/")[2]

    @property
    def tools(self) -> Tools | None:
        return Tools(self.tools_image) if self.tools_image else None

    def base(self, url: str) -> str:
        """A URL of the app without the path that our probes add."""
        return url.rstrip("/").removesuffix("/metrics").removesuffix("/admin/pool")
