"""Both stores of rooms: in memory, and a real Redis or Valkey server of the machine, started for the tests."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.teaching.rooms import MemoryStore, RoomStore
from pages.teaching.rooms.redis_store import RedisStore
from tests import ensure_servers


class RedisServer:
    """A Redis or Valkey that can be stopped and started again with its data."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        options = [
            "--port",
            self.port,
            "--bind",
            "127.0.0.1",
            "--dir",
            self.folder,
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",  # as `encoderscope serve` starts it: what is confirmed survives a crash
            "--save",
            "",
        ]
        self.process = subprocess.Popen([self.program, *map(str, options)], stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the Redis server did not start")

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self._end()

    def kill(self) -> None:
        """End it as a crash does."""
        if self.process:
            self.process.kill()
            self._end()

    def _end(self) -> None:
        assert self.process
        self.process.wait(timeout=20)
        self.process = None


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    program = ensure_servers.find()
    if program is None:
        pytest.skip("no Redis server found; `python -m tests.ensure_servers` installs one")
    server = RedisServer(program, tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> RoomStore:
    if request.param == "memory":
        return MemoryStore()
    return RedisStore(request.getfixturevalue("redis_server").url)
