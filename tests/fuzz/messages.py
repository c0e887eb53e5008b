"""Messages of all kinds to a running server: bytes on its websocket, uploads, headers. It goes on serving."""

from __future__ import annotations

import contextlib
import http.client
import os
import random
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg

from encoder.cli.app import streamlit_command
from tests.conftest import ROOT, Server, free_port
from tests.fuzz.checkpoints import Found
from tests.fuzz.texts import text_of

PATHS = (
    "/", "/heads", "/_stcore/health", "/_stcore/host-config", "/_stcore/metrics", "/_stcore/upload_file/a/b",
    "/media/x", "/app/static/../app.py", "/app/static/%2e%2e/app.py", "/static/js/x.js", "/live/x/y", "/component/x",
    "//evil.test/", "/_stcore/agent/openapi.json", "/_stcore/script-health-check", "/rooms/x/events",
)  # fmt: skip


class Live:
    """A running server that cases talk to."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc

    def case(self, seed: int) -> str:
        """One message, then a question for the server's health. Raises Found."""
        chance = random.Random(seed)
        kind = chance.choice((self._frame, self._request, self._request))
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            kind(chance)
        try:
            connection = http.client.HTTPConnection(self._host, timeout=20)
            connection.request("GET", "/_stcore/health")
            healthy = connection.getresponse().read() == b"ok"
            connection.close()
        except (OSError, http.client.HTTPException) as error:
            raise Found(f"case {seed}: the server does not answer: {error}") from error
        if not healthy:
            raise Found(f"case {seed}: the server is not well")
        return kind.__name__.strip("_")

    def _frame(self, chance: random.Random) -> None:
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect
        from websockets.typing import Origin, Subprotocol

        message = BackMsg()
        state = message.rerun_script
        state.query_string = quote(text_of(chance), errors="replace") if chance.random() < 0.5 else "&" * 2_000
        for _ in range(chance.randrange(4)):
            name = text_of(chance).encode("utf-8", "replace").decode()
            state.widget_states.widgets.add(id=name, string_value=name * chance.choice((1, 1_000)))
        data = bytearray(message.SerializeToString())
        for _ in range(chance.choice((0, 0, 1, 20))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        place, own = f"ws://{self._host}/_stcore/stream", Origin(f"http://{self._host}")
        sent: bytes | str = bytes(data)
        if chance.random() < 0.1:
            sent = text_of(chance).encode("utf-8", "replace").decode()
        with (
            contextlib.suppress(WebSocketException, TimeoutError),
            connect(place, origin=own, subprotocols=[Subprotocol("streamlit")], close_timeout=1) as connection,
        ):
            connection.send(sent)
            if chance.random() < 0.5:
                connection.recv(timeout=1)

    def _request(self, chance: random.Random) -> None:
        connection = http.client.HTTPConnection(self._host, timeout=10)
        method = chance.choice(("GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"))
        path = chance.choice(PATHS) + (f"?{quote(text_of(chance), errors='replace')}" if chance.random() < 0.3 else "")
        headers = {
            "Host": chance.choice((self._host, "evil.test", "", "a b", "localhost:99999999")),
            "Origin": chance.choice(("", f"http://{self._host}", "null", "http://evil.test")),
            "Accept-Encoding": chance.choice(("gzip", "gzip;q=0", "x" * 1_000)),
            "Range": chance.choice(("bytes=0-", "bytes=9999999-", "x")),
        }
        body = chance.randbytes(chance.choice((0, 10, 100_000))) if method in ("POST", "PUT") else None
        connection.request(method, path, body, headers)
        connection.getresponse().read(10_000)
        connection.close()


@contextlib.contextmanager
def server() -> Iterator[Live]:
    """The app on a port of its own. At the end: it still runs, and its log has no traceback."""
    port = free_port()
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                streamlit_command(ROOT / "app.py", "127.0.0.1", port, browser=False),
                cwd=place,
                env={**os.environ, "HOME": place},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        running = Server(process, f"http://127.0.0.1:{port}", log)
        try:
            running.wait_until_ready()
            yield Live(running.url)
            time.sleep(0.5)
            said = running.log()
            if process.poll() is not None:
                raise Found(f"the server has ended with {process.poll()}:\n{said[-3_000:]}")
            if "Traceback" in said:
                raise Found(f"the server's log:\n{said[said.index('Traceback') :][:3_000]}")
        finally:
            process.terminate()
            process.wait(30)
