"""A command as one value: its name, words, options and function; and the parser that is made of it.

`encoderscope COMMAND MODEL --text TEXT | --texts FILE | --file FILE | -` is the grammar of every command that runs a
model. `inputs` opens what it names, `writing` writes what the command found.
"""

from __future__ import annotations

import argparse
import difflib
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from encoder.export.still import Still

PROGRAM = "encoderscope"
FORMATS = ("csv", "parquet", "json", "jsonl", "npz", "html", "png", "svg")
#: Exit codes of every command, as the help and docs/command-line.md say.
DONE, FAILED, MISUSED, STOPPED = 0, 1, 2, 130
EXIT_CODES = "Exit codes: 0 done, 1 an error in one sentence, 2 wrong usage, 130 stopped by Ctrl-C."


class CommandError(Exception):
    """An error of the command line, which the person there can correct; its text is the whole message."""


@dataclass(frozen=True)
class Option:
    """An option or a place of a command. names, settings: as `ArgumentParser.add_argument` takes them."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def flags(self) -> tuple[str, ...]:
        """The names that begin with a dash, without hidden ones."""
        return tuple(
            name for name in self.names if name[0] == "-" and self.settings.get("help") is not argparse.SUPPRESS
        )


def option(*names: str, **settings: Any) -> Option:
    """An option of a command; of `choices` the first is the default."""
    if "choices" in settings and "default" not in settings:
        settings["default"] = settings["choices"][0]
    if settings.get("default") not in (None, argparse.SUPPRESS, (), []):
        settings["help"] += " (default: %(default)s)"
    return Option(names, settings)


@dataclass(frozen=True)
class Result:
    """What a command found about one input, or about all. Only what the format needs is computed.

    tables: the rows, in parts (csv, parquet, json, jsonl); arrays: npz; still: png and svg; page: html, by default the
    still and the rows; name: what the file holds, in a few words; facts: the settings, equal for all inputs; shown: the
    short table that is printed without --out, by default the first rows; said: lines before it; rows: what JSON calls
    the rows; code: exit code.
    """

    tables: Callable[[], Iterable[pd.DataFrame]]
    arrays: Callable[[], Mapping[str, np.ndarray]] | None = None
    still: Callable[[], Still] | None = None
    page: Callable[[], str] | None = None
    name: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)
    shown: Callable[[], pd.DataFrame] | None = None
    said: str = ""
    rows: str = "rows"
    code: int = DONE


#: What a command runs on: nothing, each of some inputs by itself, or several texts together.
Takes = Literal["", "inputs", "texts"]


@dataclass(frozen=True)
class Command:
    """A command of `encoderscope`.

    name: one word or two; help: a line; example: the words after the program's name, which a test runs; run: gives what
    it found, or an exit code; takes: its inputs; formats: of --out, none for a command that writes no table; about:
    more than the line of help; needs_no_input: whether it runs without texts, too.
    """

    name: str
    help: str
    example: str
    run: Callable[[argparse.Namespace], Iterable[Result] | int]
    options: tuple[Option, ...] = ()
    takes: Takes = ""
    formats: tuple[str, ...] = ()
    about: str = ""
    needs_no_input: bool = False

    @property
    def every_option(self) -> tuple[Option, ...]:
        """Those of its inputs, its own, and those of what it writes."""
        return (*(INPUTS if self.takes else ()), *self.options, *(OUTPUTS if self.formats else ()))


INPUTS = (
    option("given", nargs="*", help=argparse.SUPPRESS),
    option("--text", action="append", metavar="TEXT", help="an input text; again for more"),
    option(
        "--texts", metavar="FILE",
        help="texts of a .txt (a text a line), .csv, .tsv, .jsonl or .parquet file; - reads lines from standard input",
    ),
    option("--column", metavar="NAME", help="the column of the texts (default: text, sentence, ..., or the first)"),
    option("--file", action="append", type=Path, metavar="FILE", help="an image or a sound; again for more"),
    option("--model", help=argparse.SUPPRESS),
    option("--norm", choices=("trained", "pre", "post"), help="placement of the norms, moved without retraining"),
    option("--device", choices=("auto", "cpu", "cuda", "mps"), help="device of the model"),
)  # fmt: skip
OUTPUTS = (
    option("--out", metavar="FILE", help=f"the file to write, ending in .{', .'.join(FORMATS)}; - for standard output"),
    option("--format", choices=FORMATS, default=None, help="the format of standard output, or of another file name"),
    option("--json", action="store_true", help="the same as --format json"),
    option("--excel", action="store_true", help="CSV with the byte-order mark that spreadsheets need"),
)


class Parser(argparse.ArgumentParser):
    """The parser of one command, which suggests the option that an unknown one resembles."""

    def __init__(self, command: Command) -> None:
        places = " ".join(str(one.settings.get("metavar")) for one in command.options if one.names[0][0] != "-")
        given = {"": places, "inputs": "MODEL (--text TEXT | --texts FILE | --file FILE | -)",
                 "texts": "MODEL (--text TEXT ... | --texts FILE | -)"}[command.takes]  # fmt: skip
        about = command.about or f"{command.help[0].upper()}{command.help[1:]}."
        super().__init__(
            prog=f"{PROGRAM} {command.name}",
            usage=" ".join(f"{PROGRAM} {command.name} {given} [OPTIONS]".split()),
            description=_filled(about + _models(command)),
            epilog=f"Example: {PROGRAM} {command.example}\n\n{_filled(EXIT_CODES)}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._names = [flag for one in command.every_option for flag in one.flags]
        for one in command.every_option:
            self.add_argument(*one.names, **one.settings)

    def error(self, message: str) -> NoReturn:
        """Print the message with a suggestion, and exit with 2."""
        unknown = message.removeprefix("unrecognized arguments: ").split()[0] if "unrecognized" in message else ""
        super().error(f"{message}{near(unknown.partition('=')[0], self._names)}")


def _filled(text: str) -> str:
    """Lines that break between words, and never inside the name of a model."""
    return textwrap.fill(text, 78, break_on_hyphens=False, break_long_words=False)


def _models(command: Command) -> str:
    """The sentence about MODEL of a command that runs one."""
    if not command.takes:
        return ""
    from encoder.load.bundled import BUNDLED

    return f" MODEL is {', '.join(BUNDLED)}, a folder, or a Hub id such as org/name."


def near(word: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown word: "; did you mean measure?", or nothing."""
    found = difflib.get_close_matches(word, known, 1, 0.7)
    return f"; did you mean {found[0]}?" if found else ""


# --- values of options ------------------------------------------------------------------------------------------------


def whole(least: int = 0, *words: str) -> Callable[[str], int | str]:
    """The type of an option that is a whole number from `least` on, or one of some words."""

    def read(text: str) -> int | str:
        if text in words:
            return text
        if not (text.isascii() and text.isdigit() and int(text) >= least):
            also = f", or {' or '.join(words)}" if words else ""
            raise argparse.ArgumentTypeError(f"{text!r}: specify a whole number from {least} on{also}")
        return int(text)

    return read


def numbers(text: str) -> list[int]:
    """The type of an option like 3,5."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: specify whole numbers with commas between them, like 3,5")
    return [int(part) for part in parts]
