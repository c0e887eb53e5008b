"""The commands `app` and `serve`: start the app, from a checkout or an installed wheel.

Streamlit is never imported here. It runs in a Python process of its own. On POSIX that process replaces this one:
Ctrl-C, SIGTERM and the exit code are the server's, and no second interpreter stays in memory.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from encoder.cli.app_location import find_app
from encoder.cli.command import CommandError
from encoder.cli.ports import announcement, choose_port, is_loopback
from encoder.cli.serve import serve
from encoder.own import FILE as OWN

#: The contents of a folder that the operator names, and the variable that says where it is.
ROOTS = {
    "models": "ENCODERSCOPE_MODELS_ROOT",
    "atlases": "ENCODERSCOPE_ATLASES_ROOT",
    "lessons": "ENCODERSCOPE_LESSONS_ROOT",
}
ROOMS = "ENCODERSCOPE_ROOMS"
#: As in pages/core/server/guard.py.
HOSTS, FRAMES = "ENCODERSCOPE_HOSTS", "ENCODERSCOPE_FRAME_ANCESTORS"
SHARED = "ENCODERSCOPE_SHARED"
#: The address that a front listens on, as in pages/teaching/stage/invite.py.
FRONT = "ENCODERSCOPE_FRONT"
#: Each run of a page is a thread; by default, glibc keeps the freed memory of threads in eight places for each core.
ARENAS = {"MALLOC_ARENA_MAX": "4"}


def start_app(options: argparse.Namespace) -> int:
    """Start the app and open it in the browser; Ctrl-C stops it."""
    environment = server_environment(options)
    if options.own is not None:
        if not options.own.is_file():
            raise CommandError(f"--own {options.own} is not a file: specify your Python file.")
        environment[OWN] = str(options.own.resolve())
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
    options.workers = options.workers or os.cpu_count() or 1
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
    if "glibc.malloc" not in environment.get("GLIBC_TUNABLES", ""):
        environment = ARENAS | environment
    for content, name in ROOTS.items():
        folder: Path | None = getattr(options, f"{content}_root")
        if folder is None:
            continue
        if not folder.is_dir():
            raise CommandError(f"--{content}-root {folder} is not a folder: specify the folder of your {content}.")
        environment[name] = str(folder.resolve())
    if options.rooms is not None:
        environment[ROOMS] = options.rooms
    if options.allow_host:
        environment[HOSTS] = ",".join(options.allow_host)
    if options.embed_in:
        environment[FRAMES] = " ".join(["'self'", *options.embed_in])
    return environment


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
