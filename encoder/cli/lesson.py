"""The commands `encoderscope lesson ...`: lessons for the app, which are Markdown files, and what to print of them."""

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
    "answers": "print the answers of lessons without a server, from a file with one code a line",
    "material": "write path, answer key, worksheet, slides, syllabus and lessons without a server",
}
#: What an action gets, where it is not one lesson.
PLACES = {"check": "FILE.md|FOLDER", "answers": "FILE", "material": "FOLDER"}
EXAMPLES = {"answers": "codes.txt", "material": "printed"}


def run_lesson(options: argparse.Namespace) -> int:
    """Run the app's own script: the engine knows neither lessons nor pages."""
    script = find_app().parent / "pages" / "lessons" / "command.py"
    action = options.command.name.split()[1]
    command = [sys.executable, "-P", str(script), action, *map(str, options.files)]
    return subprocess.run(command, check=False).returncode


COMMANDS = tuple(
    Command(
        f"lesson {action}", text, f"lesson {action} {EXAMPLES.get(action, 'agreement.md')}", run_lesson,
        about=f"{text.capitalize()}. A lesson is a Markdown file; docs/lessons.md describes it.", options=(
            option("files", type=Path, nargs="+" if action == "check" else 1, help="the lesson, or the file or folder",
                   metavar=PLACES.get(action, "FILE.md")),
        ),
    )
    for action, text in ACTIONS.items()
)  # fmt: skip
