"""Runs a module of the project's JavaScript without a browser."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import deno


def evaluated(module: Path, names: str, expression: str, folder: Path) -> Any:
    """The value of a JavaScript expression that uses names of a module, as JSON.

    folder: for the files of this run, which the expression may read.
    """
    script = folder / "evaluated.js"
    script.write_text(
        f"import {{ {names} }} from {json.dumps(module.as_uri())};\nconsole.log(JSON.stringify({expression}));\n",
        encoding="utf-8",
    )
    allowed = ["--no-remote", "--no-config", "--no-prompt", f"--allow-read={folder}"]
    done = subprocess.run(
        [deno.find_deno_bin(), "run", *allowed, str(script)],
        env={**os.environ, "DENO_DIR": str(folder / "deno"), "DENO_NO_UPDATE_CHECK": "1", "NO_COLOR": "1"},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return json.loads(done.stdout)
