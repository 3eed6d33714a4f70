"""The operator's view over HTTP on loopback, for the time of one program.

`GET URL/` lists the calls; `GET` or `POST URL/CALL` makes one, with a JSON list of arguments as the body; `POST
URL/conclude` takes the conclusion. The address holds a token, so that nobody else on the machine finds it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from chaoslat.errors import ChaoslatError, SystemLost, UsageError
from chaoslat.runbooks.operator_api import OperatorApi, describe

BODY_BYTES = 1_000_000


def _nobody(_told: Any) -> None:
    return None


@dataclass
class Server:
    """Where it listens, and who hears of a conclusion and of the loss of the system."""

    url: str
    conclude: Callable[[Any], None] = _nobody
    lost: Callable[[SystemLost], None] = _nobody


@asynccontextmanager
async def serve(api: OperatorApi) -> AsyncIterator[Server]:
    """Serve on a free port of 127.0.0.1 until the end of the block."""
    server, token = Server(""), secrets.token_urlsafe(24)
    app = web.Application(client_max_size=BODY_BYTES)
    handlers = _Handlers(server, api)
    app.router.add_get(f"/{token}/", handlers.list_calls)
    app.router.add_post(f"/{token}/conclude", handlers.conclude)
    app.router.add_route("*", f"/{token}/{{call}}", handlers.call)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/{token}"
        yield server
    finally:
        await runner.cleanup()


@dataclass(frozen=True)
class _Handlers:
    """What answers a request."""

    server: Server
    api: OperatorApi

    async def list_calls(self, _request: web.Request) -> web.Response:
        return web.json_response(describe())

    async def conclude(self, request: web.Request) -> web.Response:
        try:
            self.server.conclude(_parse(await request.read()))
        except UsageError as error:
            return _refused(error, 400)
        return web.json_response({})

    async def call(self, request: web.Request) -> web.Response:
        try:
            args = _parse(await request.read() or b"[]")
            given = args if isinstance(args, list) else [args]
            return web.json_response(await self.api.answer(request.match_info["call"], given))
        except SystemLost as error:
            self.server.lost(error)
            return _refused(error, 503)
        except ChaoslatError as error:
            return _refused(error, 400 if isinstance(error, UsageError) else 502)


def _parse(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise UsageError("the body is not JSON", why=str(error)) from error


def _refused(error: ChaoslatError, status: int) -> web.Response:
    return web.json_response({"what": error.what, "why": error.why, "fix": error.fix}, status=status)
