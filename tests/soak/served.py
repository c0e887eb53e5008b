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

from tests import ensure_servers
from tests.conftest import ROOT, Server, free_ports
from tests.rooms.conftest import RedisServer

#: Small enough that traces and models have filled their stores before the memory is compared.
STORES = {"ENCODERSCOPE_CACHE_MB": "96", "ENCODERSCOPE_MODELS_MB": "500"}
#: A lesson of the school's own folder: the others open next to it.
BROKEN_LESSON = f"---\ntitle: {'[' * 5_000}\nminutes: 2001-13-45\n---\n"


@dataclass(frozen=True)
class Served:
    """A running server. store: of its rooms; worker: the port of its first process."""

    server: Server
    store: RedisServer
    worker: int
    workers: int

    @property
    def rooms(self) -> str:
        """The address of the store."""
        return self.store.url

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
    port = free_ports(workers + 1)
    worker = port + 1
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from encoder.cli.main import main; sys.exit(main())"
    program_of_store = ensure_servers.find()
    if program_of_store is None:
        raise FileNotFoundError("no redis-server found: `python -m tests.ensure_servers` installs one")
    with tempfile.TemporaryDirectory() as place:
        store = RedisServer(program_of_store, Path(place))
        store.start()
        lessons = Path(place) / "lessons"
        lessons.mkdir()
        (lessons / "broken.md").write_text(BROKEN_LESSON, encoding="utf-8")
        options = {
            "workers": workers, "host": "127.0.0.1", "port": port, "worker-port": worker, "rooms": store.url,
            "lessons-root": lessons,
        }  # fmt: skip
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        log = Path(place) / "log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", program, "serve", *words],
                cwd=place,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "HOME": place, **STORES},
            )
        server = Server(process, f"http://127.0.0.1:{port}", log)
        try:
            server.wait_until_ready()
            yield Served(server, store, worker, workers)
        finally:
            process.terminate()
            process.wait(60)
            store.stop()
