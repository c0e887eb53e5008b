"""The server as it runs: who is refused, what it looks up, and how it ends while a forward pass runs."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from encoder.cli.app import streamlit_command
from pages.core.server import app_server
from tests.conftest import ROOT, Server, free_port

#: A page whose script computes for ever, as a long forward pass does.
APP = """
import streamlit as st, torch
st.write("computing")
matrix = torch.rand(1500, 1500)
while True:
    matrix = (matrix @ matrix).clamp(0, 1)
"""
#: Runs a script, and writes every address that it connects to or asks for, if it is not this machine's.
WATCHED = """
import os, runpy, sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        place = arguments[1] if event == "socket.connect" else arguments[0]
        name = place[0] if isinstance(place, tuple) else place
        if name not in ("127.0.0.1", "::1", "localhost", None, ""):
            os.write(2, f"OUTSIDE {event} {place}\\n".encode())
sys.addaudithook(watch)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def ask(port: int, path: str, **headers: str) -> tuple[int, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    connection.close()
    return answer.status, answer.headers


def socket(port: int, **headers: str) -> int:
    """The status that answers the opening of a websocket: 101 if it opens."""
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    return ask(port, "/_stcore/stream", **upgrade, **headers)[0]


async def open_a_page(port: int) -> None:
    """Start the script of a session, and return when it computes."""
    from websockets.asyncio.client import connect

    url, origin = f"ws://127.0.0.1:{port}/_stcore/stream", f"http://127.0.0.1:{port}"
    message = BackMsg()
    message.rerun_script.query_string = ""
    connection = await connect(url, origin=origin, subprotocols=["streamlit"], max_size=None, ping_interval=None)
    await connection.send(message.SerializeToString())
    while b"computing" not in await connection.recv():
        pass
    await connection.close()  # the script goes on without its visitor


@pytest.mark.sample(2, "starts another server for another signal")
@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX knows them")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_refuses_looks_nothing_up_and_ends_during_a_pass(number: signal.Signals, tmp_path: Path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "app.py").write_text(APP)
    port = free_port()
    command = streamlit_command(tmp_path / "app.py", "127.0.0.1", port, browser=False)
    flags = command[command.index("run") :]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", WATCHED, str(ROOT / "pages/core/server/app_server.py"), *flags],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        server = Server(process, f"http://127.0.0.1:{port}", log)
        server.wait_until_ready()
        status, headers = ask(port, "/")
        assert status == 200
        assert "script-src 'self'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        own = f"http://127.0.0.1:{port}"
        assert ask(port, "/", Host="rebind.test")[0] == 403
        assert ask(port, "/_stcore/metrics")[0] == 404
        assert socket(port, Origin="http://evil.test") == 403
        assert socket(port, Origin=own, Host="rebind.test") == 403
        assert socket(port, Origin=own) == 101
        asyncio.run(open_a_page(port))
        process.send_signal(number)
        assert process.wait(timeout=60) == 0
        assert "OUTSIDE" not in server.log()
        assert "Traceback" not in server.log()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


async def said_first(port: int, page: str) -> list[str]:
    """What a server says to its first visitor, who opens a page, until the names of the pages."""
    from websockets.asyncio.client import connect

    message, said = BackMsg(), [""]
    message.rerun_script.page_name = page
    async with connect(
        f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], max_size=None
    ) as connection:
        await connection.send(message.SerializeToString())
        while said[-1] != "navigation":
            said.append(ForwardMsg.FromString(await connection.recv()).WhichOneof("type"))
    return said


def test_streamlit_run_serves_the_app_as_its_own_command_does(tmp_path: Path):
    """Streamlit takes the folder pages/ for its older kind of app, which has no page of this name."""
    port, log = free_port(), tmp_path / "log"
    flags = [f"--server.port={port}", "--server.headless=true", "--server.address=127.0.0.1"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *flags],
            cwd=ROOT,
            env={**os.environ, "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        Server(process, f"http://127.0.0.1:{port}", log).wait_until_ready()
        assert "page_not_found" not in asyncio.run(said_first(port, "heads"))
        assert "script-src 'self'" in ask(port, "/heads")[1]["content-security-policy"]
    finally:
        process.kill()
        process.wait()


def test_options_come_from_flags_and_from_the_operators_environment():
    given = app_server.options(
        ["--server.port=8600", "--server.headless=true", "--server.address=127.0.0.1"],
        {"STREAMLIT_SERVER_BASE_URL_PATH": "lab", "STREAMLIT_SERVER_HEADLESS": "false", "OTHER": "1"},
    )
    assert given == {
        "server.baseUrlPath": "lab",
        "server.headless": True,
        "server.port": 8600,
        "server.address": "127.0.0.1",
    }
