"""A command as one value: its name, words, options and function; and the parser that is made of it.

`commands.toml` declares all of them: options have the same words everywhere, and nothing is imported to list them.
`encoderscope COMMAND MODEL --text TEXT | --texts FILE | --file FILE | -` is the grammar of every command that runs a
model. `inputs` opens what it names, `writing` writes what the command found.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from encoder.cli.values import CHOICES, FORMATS, TYPES, whole

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from encoder.drawing.still import Still

PROGRAM = "encoderscope"
#: Exit codes.
DONE, FAILED, MISUSED, STOPPED = 0, 1, 2, 130
#: What they mean, but where a command declares another meaning (`codes` in commands.toml).
CODES = {DONE: "done", FAILED: "an error", MISUSED: "wrong usage", STOPPED: "stopped by Ctrl-C"}

#: What a command takes -> options of inputs that it refuses; a run is one input.
UNFIT = {"inputs": ("--run",), "texts": ("--run", "--file")}


class CommandError(Exception):
    """An error of the command line, which the person there can correct; its text is the whole message."""


@dataclass(frozen=True)
class Option:
    """An option or a place of a command."""

    names: tuple[str, ...]
    #: As `ArgumentParser.add_argument` accepts them.
    settings: Mapping[str, Any]
    #: As commands.toml declares them: `type` is a name there, and `least` and `most` are its limits.
    declared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[str, ...]:
        """The names that begin with a dash, without hidden ones."""
        return tuple(
            name for name in self.names if name[0] == "-" and self.settings.get("help") is not argparse.SUPPRESS
        )

    def hidden(self) -> Option:
        """The same option, which the help leaves out; given, the command can say why it is not for it."""
        return replace(self, settings={**self.settings, "help": argparse.SUPPRESS})

    @property
    def destination(self) -> str:
        """The name of its value in what the parser gives."""
        name = next((name for name in self.names if name.startswith("--")), self.names[0])
        return str(self.settings.get("dest", name.lstrip("-").replace("-", "_")))


def option(
    name: str, *, also: Sequence[str] = (), type: str = "", choices: Sequence[str] = (), **settings: Any
) -> Option:
    """An option as commands.toml declares it, hidden without help.

    also: more names; type, choices: of `values`; least, most, words: of the type `whole`.
    """
    declared = {**settings, "type": type, "choices": choices}
    limits = {key: settings.pop(key) for key in ("least", "most", "words") if key in settings}
    if type:
        settings["type"] = whole(**limits) if type == "whole" else TYPES[type]
    if choices:
        settings["choices"] = CHOICES[choices] if isinstance(choices, str) else choices
    if "help" not in settings:
        settings["help"] = argparse.SUPPRESS
    elif settings.get("default") not in (None, [], ""):
        settings["help"] += " (default: %(default)s)"
    return Option((name, *also), settings, declared)


@dataclass(frozen=True)
class Result:
    """What a command found about one input, or about all. Only what the format needs is computed."""

    #: The rows, in parts: csv, parquet, json, jsonl.
    tables: Callable[[], Iterable[pd.DataFrame]]
    #: npz.
    arrays: Callable[[], Mapping[str, np.ndarray]] | None = None
    #: png and svg.
    still: Callable[[], Still] | None = None
    #: html; by default the still and the rows.
    page: Callable[[], str] | None = None
    #: What the file holds, in a few words.
    name: str = ""
    #: The settings, equal for all inputs.
    facts: Mapping[str, object] = field(default_factory=dict)
    #: The short table that is printed without --out; by default the first rows.
    shown: Callable[[], pd.DataFrame] | None = None
    #: Lines before the table.
    said: str = ""
    #: What JSON calls the rows.
    rows: str = "rows"
    #: Exit status.
    code: int = DONE
    #: Of the input, for a command that takes each by itself.
    number: int | None = None


#: What a command runs on: nothing, each of some inputs by itself, all of them, or texts only.
Takes = Literal["", "each", "inputs", "texts"]


@dataclass(frozen=True)
class Command:
    """A command of `encoderscope`."""

    #: One word or two.
    name: str
    #: One line.
    help: str
    #: The words after the program's name; a test runs them.
    example: str
    #: Its module in encoder/cli and its name there.
    function: str
    #: All, with those of its inputs and of what it writes.
    options: Sequence[Option] = ()
    #: Its inputs.
    takes: Takes = ""
    #: Of --out; none for a command that writes no table.
    formats: Sequence[str] = ()
    #: More than the line of help.
    about: str = ""
    #: Whether it also runs without texts.
    needs_no_input: bool = False
    #: Exit codes that mean something else than those of `CODES`.
    codes: Mapping[int, str] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """The line of help as a sentence, or as its question."""
        return f"{self.help[0].upper()}{self.help[1:]}{'' if self.help.endswith('?') else '.'}"


def exit_codes(command: Command | None = None) -> str:
    """The exit codes of a command, or those of all, in one sentence."""
    meanings = CODES | dict(command.codes if command else {})
    return f"Exit codes: {', '.join(f'{code} {said}' for code, said in sorted(meanings.items()))}."


def declared() -> dict[str, Command]:
    """All commands by name, in the order of the help."""
    content = tomllib.loads(Path(__file__).with_name("commands.toml").read_text(encoding="utf-8"))
    groups = {group: _options(options) for group, options in content["options"].items()}
    return {name: _command(name, words, groups) for name, words in content["commands"].items()}


def _options(declarations: Mapping[str, Mapping[str, Any]]) -> list[Option]:
    return [option(name, **settings) for name, settings in declarations.items()]


def _command(name: str, words: dict[str, Any], groups: Mapping[str, Sequence[Option]]) -> Command:
    """A command whose options are those of its inputs, its own, shared ones, and those of what it writes."""
    own, shared = _options(words.pop("options", {})), words.pop("shared", [])
    before, after = ["inputs"] * ("takes" in words), [*shared, *["outputs"] * ("formats" in words)]
    inputs, others = ([one for group in chosen for one in groups[group]] for chosen in (before, after))
    unfit = UNFIT.get(words.get("takes", ""), ())
    inputs = [one.hidden() if one.names[0] in unfit else one for one in inputs]
    if words.get("formats") == "all":
        words["formats"] = FORMATS
    words["codes"] = {int(code): said for code, said in words.pop("codes", {}).items()}
    return Command(name, options=[*inputs, *own, *others], **words)


class Parser(argparse.ArgumentParser):
    """The parser of one command, which suggests the option that an unknown one resembles."""

    def __init__(self, command: Command) -> None:
        places = " ".join(str(one.settings.get("metavar")) for one in command.options if one.names[0][0] != "-")
        if command.takes:
            given = "TEXT ... | --texts FILE" if command.takes == "texts" else "TEXT | --texts FILE | --file FILE"
            places = f"MODEL (--text {given} | -)"
        super().__init__(
            prog=f"{PROGRAM} {command.name}",
            usage=filled(" ".join(f"{PROGRAM} {command.name} {places} [OPTIONS]".split()), "       "),
            description=filled((command.about or command.sentence) + _models(command)),
            epilog=f"{narrow(f'Example: {PROGRAM} {command.example}')}\n\n{filled(exit_codes(command))}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._known = [word for one in command.options for word in (*one.flags, *(one.settings.get("choices") or ()))]
        for one in command.options:
            self.add_argument(*one.names, **one.settings)

    def error(self, message: str) -> NoReturn:
        """Print the message with a suggestion, and exit with 2."""
        super().error(self.suggested(message))

    def suggested(self, message: str) -> str:
        """The message, with the option or choice that an unknown one resembles."""
        unknown = re.search(r"unrecognized arguments: ([^\s=]+)|invalid choice: '([^']+)'", message)
        return f"{message}{near(next(filter(None, unknown.groups())), self._known) if unknown else ''}"


def filled(text: str, indent: str = "") -> str:
    """Lines that break between words, and never inside the name of a model. indent: of all but the first."""
    width = max(20, min(78, shutil.get_terminal_size().columns - 2))
    return textwrap.fill(text, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def narrow(line: str, indent: str = "  ") -> str:
    """A line to copy, which breaks in a terminal of less than the usual 80 columns only."""
    return line if shutil.get_terminal_size().columns >= 80 else filled(line, indent)


def _models(command: Command) -> str:
    """The sentence about MODEL of a command that runs one."""
    if not command.takes:
        return ""
    from encoder.checkpoints.bundled import BUNDLED

    return f" MODEL is {', '.join(BUNDLED)}, a folder, or a Hub id such as org/name."


def near(word: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown word: "; did you mean measure?", or nothing."""
    found = difflib.get_close_matches(word, known, 1, 0.7)
    return f"; did you mean {found[0]}?" if found else ""
