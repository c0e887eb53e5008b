"""Find a Redis or Valkey server for the tests of rooms, or install Debian's. `make test` runs it."""

from __future__ import annotations

import shutil
import subprocess
import sys

from tests.ensure_chromium import debian_commands

NAMES = ("redis-server", "valkey-server")


def find() -> str | None:
    """The path of the first server that is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install a server if there is none. Without one the tests of that store are skipped, so the exit code is 0."""
    for package in () if find() else NAMES:
        for command in debian_commands(package):
            print("+", *command, flush=True)
            subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
        if find():
            break
    print(f"Redis: {find() or 'none; the tests that need one are skipped'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
