"""A real headless Chromium, driven through its DevTools protocol, for tests that look at a page.

async with page("file:///...", width=390, scheme="dark") as seen:
    assert seen.complaints == []
    assert await seen.run("document.title") == "..."
"""

import asyncio
import os
import re
import shutil
import tempfile
from contextlib import asynccontextmanager, suppress

import aiohttp

CHROMIUM = next(
    (path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None
)
START_S, LOAD_S = 30.0, 20.0
_ADDRESS = re.compile(rb"ws://127\.0\.0\.1:(\d+)/")
_COMPLAINTS = ("Runtime.exceptionThrown", "Log.entryAdded", "Network.loadingFailed")


class Page:
    """One page. `complaints`: what the browser's console had to say. `requested`: every address that was asked for."""

    def __init__(self, socket):
        self._socket, self._number, self._waiting = socket, 0, {}
        self.complaints, self.requested = [], []
        self.loaded = asyncio.Event()
        self._reader = asyncio.ensure_future(self._read())

    async def call(self, method, **params):
        """One command of the protocol. Raises AssertionError with the browser's error."""
        self._number += 1
        answer = self._waiting[self._number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        return await asyncio.wait_for(answer, LOAD_S)

    async def run(self, expression):
        """The value of a JavaScript expression."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def close(self):
        self._reader.cancel()
        with suppress(asyncio.CancelledError):
            await self._reader

    async def _read(self):
        async for message in self._socket:
            told = message.json()
            if "id" in told:
                answer = self._waiting.pop(told["id"])
                if not answer.done():
                    answer.set_result(told.get("result", {"error": told.get("error")}))
            else:
                self._note(told["method"], told["params"])

    def _note(self, method, params):
        if method in _COMPLAINTS or (method == "Runtime.consoleAPICalled" and params["type"] != "log"):
            self.complaints.append((method, params))
        if method == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])
        if method == "Page.loadEventFired":
            self.loaded.set()


@asynccontextmanager
async def page(url, *, width=1280, scheme="light", media=""):
    """The page at `url`, loaded, at that width (px) and colour scheme. The browser is ended by its process id."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await _start(profile)
        try:
            port = await asyncio.wait_for(_port(process), START_S)
            async with aiohttp.ClientSession() as client, _socket(client, port) as socket:
                made = Page(socket)
                await _load(made, url, width, scheme, media)
                yield made
                await made.close()
        finally:
            process.kill()
            await process.wait()


async def _start(profile):
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    return await asyncio.create_subprocess_exec(
        CHROMIUM,
        "--headless",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-port=0",
        f"--user-data-dir={profile}",
        *as_root,
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )


async def _port(process):
    while line := await process.stderr.readline():
        if found := _ADDRESS.search(line):
            return int(found[1])
    raise AssertionError("the browser did not start")


@asynccontextmanager
async def _socket(client, port):
    async with client.get(f"http://127.0.0.1:{port}/json") as answer:
        tabs = await answer.json()
    address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
    async with client.ws_connect(address, max_msg_size=0) as socket:
        yield socket


async def _load(made, url, width, scheme, media):
    for domain in ("Page", "Runtime", "Log", "Network"):
        await made.call(f"{domain}.enable")
    feature = {"name": "prefers-color-scheme", "value": scheme}
    await made.call("Emulation.setEmulatedMedia", media=media, features=[feature])
    await made.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
    )
    await made.call("Page.navigate", url=url)
    await asyncio.wait_for(made.loaded.wait(), LOAD_S)
