"""`encoderscope serve`: processes behind a real nginx, with one store of rooms."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from encoder import cli
from pages.core.rooms import new_room
from pages.core.rooms.redis_store import RedisStore
from tests import ensure_servers
from tests.conftest import ROOT, Server, free_port
from tests.rooms.conftest import RedisServer

pytestmark = pytest.mark.skipif(os.name != "posix", reason="serve needs POSIX")


CONNECTIONS: list[http.client.HTTPConnection] = []


@pytest.fixture
def served(redis_server: RedisServer, tmp_path: Path) -> Iterator[tuple[Server, int]]:
    """Two processes behind nginx, and the port of the first one."""
    if ensure_servers.find(ensure_servers.FRONTS) is None:
        pytest.skip("no nginx found; `python -m tests.ensure_servers` installs one")
    port, worker = free_port(), free_port()
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from encoder.cli import main; sys.exit(main())"
    options = {"workers": 2, "host": "127.0.0.1", "port": port, "worker-port": worker, "rooms": redis_server.url}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, "serve", *words], cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": str(tmp_path)},
        )  # fmt: skip
    server = Server(process, f"http://127.0.0.1:{port}", log)
    try:
        server.wait_until_ready()
        yield server, worker
    finally:
        while CONNECTIONS:
            CONNECTIONS.pop().close()
        if process.poll() is None:
            process.terminate()
            process.wait(timeout=60)


def request(server: Server, path: str, process: int = 0, **headers: str) -> http.client.HTTPResponse:
    """The answer; `served` closes its connection. process: that the visitor's cookie names."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30)
    CONNECTIONS.append(connection)
    cookie = {"Cookie": f"encoderscope={process}"} if process else {}
    method, body = ("PUT", bytes(5_000_000)) if path.endswith("/upload") else ("GET", None)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {**cookie, **named})
    return connection.getresponse()


def named(answer: http.client.HTTPResponse) -> str:
    """The process that the front's cookie names, "" where it stays."""
    answer.read()
    found = re.search(r"\bencoderscope=(\d+)", ", ".join(answer.headers.get_all("set-cookie", [])))
    return found[1] if found else ""


def process_of(server: Server, port: int) -> psutil.Process | None:
    children = psutil.Process(server.process.pid).children()
    return next((one for one in children if f"--server.port={port}" in one.cmdline()), None)


def test_visitors_stay_with_their_process_and_a_room_is_everywhere(
    served: tuple[Server, int], redis_server: RedisServer
) -> None:
    server, worker = served
    assert {named(request(server, "/")) for _ in range(4)} == {"1", "2"}
    assert {named(request(server, "/_stcore/health", one)) for one in (1, 2)} == {""}
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13",
               "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ=="}  # fmt: skip
    opened = request(server, "/_stcore/stream", 1, **upgrade)
    assert opened.status == 101
    opened.close()
    refused = request(server, "/_stcore/upload_file/none/upload", 1)
    assert refused.headers["x-content-type-options"], "the app refused a session that it does not know, not the front"

    store, room = RedisStore(redis_server.url), new_room("key", view={"page": "heads"})
    assert store.open(room)
    streams = [request(server, f"/_rooms/{room.code}?member=m{one}", one) for one in (1, 2)]
    store.change(room.code, lambda found: replace(found, frozen=True))
    for stream in streams:
        assert any(json.dumps({"version": 2}).encode() in stream.readline() for _ in range(20))

        stream.close()

    victim = process_of(server, worker + 1)
    assert victim
    victim.kill()
    victim.wait(timeout=20)
    assert named(request(server, "/_stcore/health", 2)) == "1", "another process takes the visitor over"
    deadline = time.monotonic() + 60
    while named(request(server, "/_stcore/health", 1)) or process_of(server, worker + 1) is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "process 2 ended with -9" in server.log()

    children = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=60) == 0
    assert not [one for one in children if one.is_running()]


def test_what_is_missing_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("encoder.serve_command.shutil.which", lambda *_, **__: None)
    for words in (["--workers", "2"], ["--rooms", "off"], ["--workers", "2", "--rooms", "memory"]):
        assert cli.main(["serve", "--worker-port", str(free_port()), *words]) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in ("redis-server", "nginx-light", "one process"))
    assert cli.main(["serve", "--workers", "3", "--host", "::", "--print-nginx"]) == 0
    printed = capsys.readouterr().out
    assert "listen [::]:8501;" in printed
    assert printed.count("127.0.0.1:8513") == 4
