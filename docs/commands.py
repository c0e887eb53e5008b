"""Every command with its options: a page of `make docs`, from the table that the command line is made of."""

import argparse

from encoder.cli import main
from encoder.cli.command import Command, Option

HEADING = """# Every command

As `encoderscope COMMAND --help` says it; [From a shell](../command-line.md) has the grammar that all share."""


def _plain(text: str) -> str:
    """One line of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _option(one: Option) -> str:
    action = argparse.ArgumentParser(add_help=False).add_argument(*one.names, **one.settings)
    return f"| {', '.join(f'`{flag}`' for flag in one.flags)} | {_plain((action.help or '') % vars(action))} |"


def _command(name: str, command: Command) -> list[str]:
    shown = [one for one in command.options if one.flags and one.settings.get("help") is not argparse.SUPPRESS]
    lines = ["", f"## encoderscope {name}", "", _plain(command.sentence), ""]
    lines += ["```sh", f"encoderscope {command.example}", "```"] if command.example else []
    return [*lines, "", "| option | effect |", "|---|---|", *map(_option, shown)] if shown else lines


def text() -> str:
    """Every command as Markdown."""
    return "\n".join([HEADING, *(line for name, one in main.COMMANDS.items() for line in _command(name, one))]) + "\n"
