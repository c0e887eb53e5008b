"""The commands `app` and `serve`: start the app, from a checkout or an installed wheel.

Streamlit is never imported here. It runs in a Python process of its own. On POSIX that process replaces this one:
Ctrl-C, SIGTERM and the exit code are the server's, and no second interpreter stays in memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from encoder.cli.app_location import find_app
from encoder.cli.command import Command, CommandError, option
from encoder.cli.ports import DEFAULT_PORT, announcement, as_port, choose_port, is_loopback
from encoder.cli.serve import SERVE_OPTIONS, serve

MODELS_ROOT = "ENCODERSCOPE_MODELS_ROOT"
ATLASES_ROOT = "ENCODERSCOPE_ATLASES_ROOT"
LESSONS_ROOT = "ENCODERSCOPE_LESSONS_ROOT"
ROOMS = "ENCODERSCOPE_ROOMS"
#: As in pages/core/work/log.py and pages/core/server/guard.py.
LOG = "ENCODERSCOPE_LOG"
HOSTS, FRAMES = "ENCODERSCOPE_HOSTS", "ENCODERSCOPE_FRAME_ANCESTORS"
SHARED = "ENCODERSCOPE_SHARED"
#: The address that a front listens on, as in pages/classroom/invite.py.
FRONT = "ENCODERSCOPE_FRONT"
#: glibc keeps 128 MB of freed memory, and all blocks below 32 MB, for a process's next use. By default it returns a
#: freed trace to the system, and the next trace fetches it again page by page (10% more time at 512 tokens). Each run
#: of a page is a thread; by default, threads keep such memory in eight places for each core.
MALLOC = {
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_ARENA_MAX": "4",
}


def start_app(options: argparse.Namespace) -> int:
    """Start the app and open it in the browser; Ctrl-C stops it."""
    environment = server_environment(options)
    if not is_loopback(options.host):
        environment[SHARED] = "1"
    shared = environment.get(SHARED) == "1"  # set by hand if a proxy on this machine serves others
    port = choose_port(options.host, options.port)
    print(announcement(options.host, port), flush=True)
    command = streamlit_command(find_app(), options.host, port, browser=not options.no_browser, shared=shared)
    return _hand_over(command, environment)


def start_workers(options: argparse.Namespace) -> int:
    """Start several processes of the app with a front and a store of rooms; Ctrl-C or SIGTERM stops all."""
    app, environment = find_app(), server_environment(options)
    if environment.get(ROOMS) == "memory" and options.workers > 1:
        raise CommandError("rooms in memory belong to one process: specify redis://HOST:PORT/DB, or leave --rooms out.")
    environment[SHARED] = "1"
    environment[FRONT] = options.host

    def command(port: int) -> list[str]:
        return streamlit_command(app, "127.0.0.1", port, browser=False, shared=True)

    return serve(options, command, environment, rooms=ROOMS)


def server_environment(options: argparse.Namespace) -> dict[str, str]:
    """The environment of a server with these options. Raises CommandError for a folder that is missing."""
    environment = dict(os.environ)
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in pages/core/server/app_server.py
    environment |= malloc_settings(environment)
    if options.models_root is not None:
        environment[MODELS_ROOT] = _existing_folder(options.models_root, "--models-root", "models")
    if options.atlases_root is not None:
        environment[ATLASES_ROOT] = _existing_folder(options.atlases_root, "--atlases-root", "atlases")
    if options.lessons_root is not None:
        environment[LESSONS_ROOT] = _existing_folder(options.lessons_root, "--lessons-root", "lessons")
    if options.rooms is not None:
        environment[ROOMS] = options.rooms
    if options.log is not None:
        environment[LOG] = options.log
    if options.allow_host:
        environment[HOSTS] = ",".join(options.allow_host)
    if options.embed_in:
        environment[FRAMES] = " ".join(["'self'", *options.embed_in])
    return environment


def malloc_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The settings that make the app keep freed memory; none if `environment` configures malloc itself."""
    configured = MALLOC.keys() & environment.keys() or "glibc.malloc" in environment.get("GLIBC_TUNABLES", "")
    return {} if configured else MALLOC


def streamlit_command(app: Path, host: str, port: int, *, browser: bool, shared: bool = False) -> list[str]:
    """The command that serves `app`; .streamlit/config.toml has the options that never change."""
    options = {
        "server.address": host.strip("[]"),
        "server.port": port,
        # Streamlit's welcome message asks an outside server for this machine's public address.
        "logger.hideWelcomeMessage": True,
        # These two must hold before Streamlit finds the app's config, whatever the home directory's says.
        "server.showEmailPrompt": False,
        "browser.gatherUsageStats": False,
        # A view of 64 tokens is 0.40 MB, or 0.16 MB compressed, which takes 20 ms of a core. That helps on a shared
        # wireless network, and costs time between two programs on one machine.
        "server.enableWebsocketCompression": shared,
    }
    if not browser:  # otherwise Streamlit decides: without a display it opens none
        options["server.headless"] = True
    flags = [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]
    # -P: import nothing from the current folder.
    server = app.parent / "pages" / "core" / "server" / "app_server.py"
    streamlit = [str(server)] if server.is_file() else ["-m", "streamlit"]  # the small apps of tests have no server
    return [sys.executable, "-P", *streamlit, "run", str(app), *flags]


def _existing_folder(folder: Path, option: str, content: str) -> str:
    if not folder.is_dir():
        raise CommandError(f"{option} {folder} is not a folder: specify the folder of your {content}.")
    return str(folder.resolve())


def _hand_over(command: list[str], environment: Mapping[str, str]) -> int:
    """Replace this process by `command`; on other systems, wait for it and return its exit code.

    While it waits, Ctrl-C also reaches the server, which closes its sessions before it ends.
    """
    if os.name == "posix":
        os.execve(command[0], command, environment)
    server = subprocess.Popen(command, env=environment)
    while True:
        try:
            return server.wait()
        except KeyboardInterrupt:
            continue


def _rooms(text: str) -> str:
    if text not in ("memory", "off") and not text.startswith(("redis://", "rediss://", "unix://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not memory, off or an address like redis://localhost:6379/0")
    if text.startswith(("redis", "unix")) and find_spec("redis") is None:
        raise argparse.ArgumentTypeError("rooms in Redis need redis-py: pip install 'encoderscope[classroom]'")
    return text


SERVER_OPTIONS = (
    option("--models-root", type=Path, metavar="DIR",
           help="folder of local models; the app then opens models from no other place"),
    option("--atlases-root", type=Path, metavar="DIR",
           help="folder of atlases (encoderscope corpus build); the app then opens atlases from no other place"),
    option("--lessons-root", type=Path, metavar="DIR",
           help="folder of your own lessons (*.md), read again when a file changes"),
    option("--rooms", type=_rooms, metavar="PLACE", help="where rooms of classes are kept: memory (the default, for "
           "one process), off, or redis://HOST:PORT/DB"),
    option("--log", choices=("plain", "json"), default=None,
           help="the server's log: plain (the default; silent while all is well), or json, one object a line"),
    option("--allow-host", action="append", default=[], metavar="NAME",
           help="a name that the server answers to, as behind a proxy (school.example); again for further names"),
    option("--embed-in", action="append", default=[], metavar="ORIGIN", help="a site that may embed the app in a frame "
           "(https://moodle.school.example); again for further ones"),
)  # fmt: skip
COMMANDS = (
    Command(
        "app", "open the app in the browser (the default)", "app --port 8600 --no-browser", start_app,
        about="Open the app in the browser; Ctrl-C stops it.", options=(
            option("--host", default="localhost", metavar="ADDRESS",
                   help="address to listen on; localhost: this machine only; 0.0.0.0 admits others"),
            option("--port", type=as_port, metavar="N",
                   help=f"port to listen on (default: the first free one from {DEFAULT_PORT})"),
            option("--no-browser", action="store_true", help="print the address and open no browser window"),
            *SERVER_OPTIONS,
        ),
    ),
    Command(
        "serve", "serve the app to many: several processes, a front, and a store of rooms", "serve --workers 4",
        start_workers, about="Serve the app to many: several processes behind nginx, with Redis or Valkey for the "
        "rooms of classes. Ctrl-C stops all of them. For this machine only, `app` is enough.",
        options=(
            option("--host", default="0.0.0.0", metavar="ADDRESS", help="address to listen on; 0.0.0.0: all networks"),
            option("--port", type=as_port, default=DEFAULT_PORT, metavar="N", help="port to listen on"),
            *SERVE_OPTIONS, *SERVER_OPTIONS,
        ),
    ),
)  # fmt: skip
