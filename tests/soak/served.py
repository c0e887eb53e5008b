"""`encoderscope serve` with a Redis of its own: its processes, their memory, and their sudden ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.rooms import redis_server
from tests.conftest import ROOT, Server, free_port

#: Small enough that the caches are full before the memory is compared.
CACHE_MB = "96"


@dataclass(frozen=True)
class Served:
    """A running server. rooms: the address of its store; worker: the port of its first process."""

    server: Server
    rooms: str
    worker: int
    workers: int

    def process(self, number: int) -> psutil.Process | None:
        """A process by its number from 0 on; None while it is started again."""
        wanted = f"--server.port={self.worker + number}"
        for child in psutil.Process(self.server.process.pid).children():
            with contextlib.suppress(psutil.Error):
                if wanted in child.cmdline():
                    return child
        return None

    def resident(self, number: int) -> int:
        """Bytes of its resident memory."""
        found = self.process(number)
        return found.memory_info().rss if found else 0

    def kill(self, number: int) -> bool:
        """End a process as a crash does; whether it was there."""
        found = self.process(number)
        if found:
            found.kill()
        return found is not None


@contextlib.contextmanager
def serve(workers: int) -> Iterator[Served]:
    """The server until the end of the context. Raises FileNotFoundError without nginx or Redis."""
    port, worker = free_port(), free_port()
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from encoder.cli.main import main; sys.exit(main())"
    with redis_server() as rooms, tempfile.TemporaryDirectory() as place:
        options = {"workers": workers, "host": "127.0.0.1", "port": port, "worker-port": worker, "rooms": rooms}
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        log = Path(place) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, "serve", *words], cwd=place, stdout=out,
                stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, "HOME": place, "ENCODERSCOPE_CACHE_MB": CACHE_MB},
            )  # fmt: skip
        server = Server(process, f"http://127.0.0.1:{port}", log)
        try:
            server.wait_until_ready()
            yield Served(server, rooms, worker, workers)
        finally:
            process.terminate()
            process.wait(60)
