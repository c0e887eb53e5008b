"""The command `completion`: what a shell asks when the reader presses Tab."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from encoder.cli.command import Command, Option

#: The first word of a shell's question; the words that are typed follow.
ASK = "__complete"


def candidates(words: Sequence[str], commands: Mapping[str, Command]) -> list[str]:
    """What the last word may become: a command, an option, its value, or a model; nothing: a file."""
    *before, word = words or [""]
    command = commands.get(" ".join(before[:2])) or commands.get(" ".join(before[:1]))
    if command is None:
        after = " ".join([*before, ""]) if before else ""
        found = [name.removeprefix(after).split()[0] for name in commands if name.startswith(after)]
    else:
        found = _of(command, before)
    return [one for one in dict.fromkeys(found) if one.startswith(word)]


def _of(command: Command, before: Sequence[str]) -> list[str]:
    """The values of the option before, if it has some; else the options, and models where MODEL is missing."""
    last = next((one for one in command.options if before[-1] in one.flags), None)
    if last is not None and last.settings.get("action") != "store_true":
        return _choices(last)
    places = [choice for one in command.options if not one.flags for choice in _choices(one)]
    found = [*places, "--help", *(flag for one in command.options for flag in one.flags)]
    if command.takes and len(before) == len(command.name.split()):
        from encoder.checkpoints.bundled import BUNDLED

        found = [*BUNDLED, *found]
    return found


def _choices(one: Option) -> list[str]:
    return [str(choice) for choice in one.settings.get("choices") or ()]


def show_script(options: argparse.Namespace) -> int:
    """Print the script of a shell."""
    print(Path(__file__).with_name(f"completion.{options.shell}").read_text(encoding="utf-8"), end="")
    return 0
