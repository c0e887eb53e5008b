"""The commands `lesson new`, `lesson check` and `lesson preview`: lessons for the app, which are Markdown files."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from encoder.cli.app_location import find_app
from encoder.cli.command import Command, option

ACTIONS = {
    "new": "write a small lesson to begin with",
    "check": "open every view and compute every question of lessons",
    "preview": "check a lesson and start the app with it",
}


def run_lesson(options: argparse.Namespace) -> int:
    """Run the app's own script: the engine knows neither lessons nor pages."""
    script = find_app().parent / "pages" / "lessons" / "command.py"
    action = options.command.name.split()[1]
    command = [sys.executable, "-P", str(script), action, *map(str, options.files)]
    return subprocess.run(command, check=False).returncode


COMMANDS = tuple(
    Command(
        f"lesson {action}", text, f"lesson {action} agreement.md", run_lesson,
        about=f"{text.capitalize()}. A lesson is a Markdown file; docs/lessons.md describes it.", options=(
            option("files", type=Path, nargs="+" if action == "check" else 1, help="the lesson",
                   metavar="FILE.md|FOLDER" if action == "check" else "FILE.md"),
        ),
    )
    for action, text in ACTIONS.items()
)  # fmt: skip
