"""Find the servers that tests start, or install Debian's: Redis or Valkey, and nginx. `make test` runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.ensure_chromium import debian_commands

#: Program -> Debian's package with it; the first one that is there is used.
STORES = {"redis-server": "redis-server", "valkey-server": "valkey-server"}
FRONTS = {"nginx": "nginx-light"}
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def find(programs: dict[str, str] = STORES) -> str | None:
    """The path of the first program that is installed."""
    return next(filter(None, (shutil.which(name, path=PATH) for name in programs)), None)


def main() -> int:
    """Install what is missing. Without a server its tests are skipped, so the exit code is 0."""
    for programs in (STORES, FRONTS):
        for package in () if find(programs) else programs.values():
            for command in debian_commands(package):
                print("+", *command, flush=True)
                subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
            if find(programs):
                break
        print(f"{' or '.join(programs)}: {find(programs) or 'none; the tests that need one are skipped'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
