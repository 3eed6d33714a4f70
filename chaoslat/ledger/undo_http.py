"""The undo kind `http`: one request, for a setting that lives in a process and goes with it."""

from __future__ import annotations

from http.client import HTTPConnection, RemoteDisconnected
from urllib.parse import urlsplit

from chaoslat.ledger.ledger import Entry

DEADLINE_S = 2.0


def send(entry: Entry) -> None:
    """Send `method`, `url` and `body` (JSON text or None).

    A server that is gone has nothing to undo, nor has one that answers with a status of the list `gone`. Raises
    OSError on any other status from 400 on, and when there is no answer within `DEADLINE_S`.
    """
    try:
        status = _status(str(entry.args["method"]), str(entry.args["url"]), entry.args.get("body"))
    except (ConnectionError, RemoteDisconnected):
        return
    gone = entry.args.get("gone")
    if status >= 400 and not (isinstance(gone, list) and status in gone):
        raise OSError(f"the server answered {status}")


def _status(method: str, address: str, body: object) -> int:
    url = urlsplit(address)
    connection = HTTPConnection(url.hostname or "", url.port or 80, timeout=DEADLINE_S)
    try:
        content = None if body is None else str(body)
        connection.request(method, url.path or "/", content, {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()
