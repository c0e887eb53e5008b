"""The commands `encoderscope lesson ...`: lessons for the app, which are Markdown files, and what to print of them."""

import argparse
import subprocess
import sys

from encoder.cli.app_location import find_app


def run_lesson(options: argparse.Namespace) -> int:
    """Run the app's own script: the engine knows neither lessons nor pages."""
    script = find_app().parent / "pages" / "teaching" / "lessons" / "command.py"
    action = options.command.name.split()[1]
    flags = ["--json"] if getattr(options, "json", False) else []
    flags += [f"--server={options.server}"] if getattr(options, "server", "") else []
    flags += [f"--lessons-root={options.lessons_root}"] if getattr(options, "lessons_root", None) else []
    command = [sys.executable, "-P", str(script), action, *flags, *map(str, options.files)]
    return subprocess.run(command, check=False).returncode
