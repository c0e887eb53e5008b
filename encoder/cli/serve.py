"""The command `encoderscope serve`: several processes of the app, a front and a store of rooms.

It runs until SIGTERM or Ctrl-C. The front is nginx and the store Redis or Valkey, as the machine has them. A part that
stops is started again.
"""

import argparse
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from encoder.cli import nginx
from encoder.cli.command import CommandError
from encoder.cli.ports import announcement, bracketed, choose_port

#: Seconds until a part must answer, and those that it has to end.
START, END = 120.0, 15.0
#: A part that stops so many times by itself, each time within so many seconds, is not started again.
TRIES, QUICK = 3, 20.0
STORES = ("redis-server", "valkey-server")


@dataclass
class Part:
    """One program that the command starts."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    #: Whether it is ready.
    answers: Callable[[], bool]
    #: Whether its output is dropped.
    quiet: bool = False
    process: subprocess.Popen[bytes] | None = None
    #: When it was started last, in seconds of a monotonic clock.
    began: float = 0.0
    #: When it stopped too early, time after time without a success between.
    ends: list[float] = field(default_factory=list)

    def start(self) -> None:
        """Start it. It gets no Ctrl-C from the terminal: `serve` stops all parts in their order."""
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            self.command,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL if self.quiet else None,
            start_new_session=True,
        )

    def end(self) -> None:
        """Ask it to end, and insist after a while."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(END)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(
    options: argparse.Namespace, command: Callable[[int], Sequence[str]], environment: Mapping[str, str], *, rooms: str
) -> int:
    """Serve until SIGTERM or Ctrl-C; returns the exit code.

    command: of a process that listens on a port; environment: of the processes; rooms: the variable there that says
    where rooms are kept. Raises CommandError if something is missing, or a part does not start.
    """
    ports = range(options.worker_port, options.worker_port + options.workers)
    if ports[-1] > 65535 or ports[0] < 1:
        raise CommandError(f"--worker-port {options.worker_port} leaves no ports for {options.workers} processes.")
    listen = f"{bracketed(options.host)}:{options.port}"
    if options.print_nginx:
        print(nginx.site(ports, listen), end="")
        return 0
    if os.name != "posix":
        raise CommandError("serve needs Linux or macOS. On this system `encoderscope --host 0.0.0.0` serves a class.")
    for port in ports:
        choose_port("127.0.0.1", port)
    environment = dict(environment)
    with tempfile.TemporaryDirectory(prefix="encoderscope-") as folder:
        os.chmod(folder, 0o711)  # nginx's workers may be of another user
        parts = []
        if rooms not in environment and options.workers > 1:
            store, environment[rooms] = _store(Path(folder))
            parts.append(store)
        parts += [
            Part(f"process {number}", command(port), environment, _listens(port))
            for number, port in enumerate(ports, 1)
        ]
        if not options.no_front:
            choose_port(options.host, options.port)
            parts.append(_front(Path(folder), ports, listen, options.port))
        said = announcement(options.host, options.port)
        if options.no_front:
            said = f"Encoderscope: processes listen on 127.0.0.1, ports {ports[0]} to {ports[-1]}  (Ctrl-C stops them)"
        return _run(parts, said)


def _store(folder: Path) -> tuple[Part, str]:
    """A Redis or Valkey behind a socket that only this user opens, and its address."""
    if find_spec("redis") is None:
        raise CommandError("rooms of several processes need redis-py: pip install 'encoderscope[classroom]'.")
    program = next(filter(None, map(shutil.which, STORES)), None)
    if program is None:
        raise CommandError(
            "no redis-server or valkey-server is installed. Install one (Debian: apt install redis-server), specify "
            "--rooms redis://HOST:PORT/DB, or switch rooms off with --rooms off."
        )
    place = folder / "store"
    place.mkdir(mode=0o700)
    options = {
        "port": "0",
        "unixsocket": f"{place}/socket",
        "unixsocketperm": "700",
        "dir": str(place),
        "save": "",
        "appendonly": "yes",
        "appendfsync": "always",  # what it has confirmed survives its crash
        "loglevel": "warning",
    }
    command = [program, *(word for name, value in options.items() for word in (f"--{name}", value))]
    return Part("the store of rooms", command, os.environ, (place / "socket").exists, True), f"unix://{place}/socket"


def _front(folder: Path, ports: Sequence[int], listen: str, port: int) -> Part:
    """nginx with a file of its own."""
    import resource

    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if program is None:
        raise CommandError(
            "no nginx is installed. Install it (Debian: apt install nginx-light), or use another front with "
            "--no-front; --print-nginx shows what it must do."
        )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    file = folder / "nginx.conf"
    file.write_text(
        nginx.whole(folder, ports, listen, most if most != resource.RLIM_INFINITY else 2**20), encoding="utf-8"
    )
    command = [program, "-p", str(folder), "-e", "stderr", "-c", str(file)]
    return Part("nginx", command, os.environ, _listens(port, listen.rpartition(":")[0]))


def _listens(port: int, host: str = "127.0.0.1") -> Callable[[], bool]:
    place = {"0.0.0.0": "127.0.0.1", "[::]": "::1"}.get(host, host.strip("[]"))

    def answers() -> bool:
        try:
            socket.create_connection((place, port), timeout=1).close()
        except OSError:
            return False
        return True

    return answers


# --- parts that run together ------------------------------------------------------------------------------------------


def _run(parts: Sequence[Part], said: str) -> int:
    """Start the parts in their order, watch them, and end them in the opposite order."""
    stop = threading.Event()
    with _signals(stop):
        try:
            for part in parts:
                part.start()
                if part is not parts[-1] and part.name.startswith("process"):
                    continue  # the processes start together
                _wait(parts, stop)
            _wait(parts, stop)
            if not stop.is_set():
                print(said, flush=True)
            while not stop.wait(0.2):
                for part in parts:
                    _revive(part)
        finally:
            for part in reversed(parts):
                part.end()
    return 0


def _wait(parts: Sequence[Part], stop: threading.Event) -> None:
    """Wait until all parts that were started answer. Raises CommandError if one does not."""
    for part in parts:
        while part.process is not None and not part.answers() and not stop.wait(0.1):
            if part.process.poll() is not None:
                raise CommandError(f"{part.name} ended with {part.process.returncode}; its own words are above.")
            if time.monotonic() - part.began > START:
                raise CommandError(f"{part.name} does not answer after {START:.0f} s.")


def _revive(part: Part) -> None:
    """Start a part again that has ended. Raises CommandError if that helps for moments only."""
    assert part.process is not None
    code = part.process.poll()
    if code is None:
        return
    now = time.monotonic()
    is_early = now - part.began < QUICK and code != -signal.SIGKILL  # another program killed it: its start is sound
    part.ends = [*part.ends, now] if is_early else []
    if len(part.ends) >= TRIES:
        raise CommandError(f"{part.name} ended {TRIES} times soon after its start, at last with {code}.")
    print(f"encoderscope: {part.name} ended with {code}; it is started again.", file=sys.stderr, flush=True)
    part.start()


@contextlib.contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """SIGTERM and Ctrl-C set `stop`."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
