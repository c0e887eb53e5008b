"""The command `encoderscope lesson`: writes a lesson to begin with, checks or shows one, or writes what to print."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.cli.app_location import find_app

if TYPE_CHECKING:
    from encoder.cli.arguments import Subparsers

ACTIONS = {
    "new": "write a small lesson to begin with",
    "check": "open every view and compute every question of lessons",
    "preview": "check a lesson and start the app with it",
    "answers": "print the answers of lessons without a server, from a file with one code a line",
    "material": "write path, answer key, worksheet, slides, syllabus and lessons without a server",
}


def add_lesson(subparsers: Subparsers) -> None:
    """Add the command to a parser."""
    command = subparsers.add_parser(
        "lesson",
        help="write and check lessons for the app",
        description="Write and check lessons for the app. A lesson is a Markdown file; docs/lessons.md describes it.",
    )
    actions = command.add_subparsers(metavar="ACTION", required=True)
    for action, help_text in ACTIONS.items():
        one = actions.add_parser(action, help=help_text, description=help_text.capitalize() + ".")
        if action == "check":
            one.add_argument("files", type=Path, metavar="FILE.md|FOLDER", nargs="+")
        else:
            one.add_argument(
                "files", type=Path, metavar={"material": "FOLDER", "answers": "FILE"}.get(action, "FILE.md"), nargs=1
            )
        one.set_defaults(run=run_lesson, action=action)


def run_lesson(options: argparse.Namespace) -> int:
    """Run the app's own script: the engine knows neither lessons nor pages."""
    script = find_app().parent / "pages" / "lessons" / "command.py"
    command = [sys.executable, "-P", str(script), options.action, *map(str, options.files)]
    return subprocess.run(command, check=False).returncode
