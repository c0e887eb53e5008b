"""Runs a command for an agent: its arguments as words of the command line, its rows as the JSON of that command."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from encoder.checkpoints.bundled import BUNDLED
from encoder.cli import running, writing
from encoder.cli.agents import room
from encoder.cli.command import PROGRAM, Command, CommandError, Option, Parser, Result, near
from encoder.cli.inputs import Misuse
from encoder.errors import quoted

if TYPE_CHECKING:
    import numpy as np

#: Characters of one text, texts of one question, and numbers of one list.
LONGEST, MOST_TEXTS, MOST_NUMBERS = 50_000, 200, 1_000
#: Characters of the name of a model or a file.
LONGEST_NAME = 1_000
#: Bytes of one file of texts or vectors.
MOST_BYTES = 100_000_000

#: Arguments of every question about a model.
MODEL = {
    "type": "string",
    "maxLength": LONGEST_NAME,
    "default": "minilm",
    "description": "a bundled model (minilm, twin-pre, twin-post, ...), or a folder below --models-root",
}
DETAIL = {"type": "boolean", "default": False, "description": "200 rows in place of 10, and whole lists"}


@dataclass(frozen=True)
class Reply:
    """What a command found for one question."""

    command: Command
    options: argparse.Namespace
    #: The words after the program's name.
    words: tuple[str, ...]
    result: Result
    #: The question's arguments.
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The command line that gives the same numbers."""
        return shlex.join([PROGRAM, *self.words])

    @cached_property
    def _json(self) -> dict[str, Any]:
        return writing.as_json(self.result)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The table, to the digit as `--json` writes it."""
        found: list[dict[str, Any]] = self._json[self.result.rows]
        return found

    @property
    def facts(self) -> dict[str, Any]:
        """What `--json` writes next to the rows."""
        return {name: value for name, value in self._json.items() if name != self.result.rows}

    @property
    def arrays(self) -> Mapping[str, np.ndarray]:
        """What `--format npz` writes."""
        return self.result.arrays() if self.result.arrays is not None else {}

    def png(self) -> bytes:
        """The command's picture."""
        if self.result.still is None:
            raise CommandError(f"{self.command.name} has no picture: ask for its rows.")
        return self.result.still().png()


class _Parser(Parser):
    """A parser whose error is an exception: nobody reads a usage line."""

    def error(self, message: str) -> NoReturn:
        raise Misuse(f"{self.suggested(message)}.")


def schema_of(option: Option) -> dict[str, Any]:
    """The JSON schema of an option's value."""
    declared = option.declared
    kind, words = declared.get("type", ""), declared.get("words")
    one: dict[str, Any] = {"type": "string", "maxLength": LONGEST}
    if kind in ("whole", "int"):
        one = {"type": "integer"}
        if kind == "whole":
            one["minimum"] = declared.get("least", 0)
        if "most" in declared:
            one["maximum"] = declared["most"]
        if words:
            one = {"anyOf": [one, {"enum": list(words)}]}
    elif kind in ("float", "share"):
        one = {"type": "number"} | ({"minimum": 0, "maximum": 1} if kind == "share" else {})
    elif kind == "numbers":
        one = {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": MOST_NUMBERS}
    elif choices := option.settings.get("choices"):
        one = {"enum": list(choices)}
    if declared.get("action") == "store_true":
        one = {"type": "boolean"}
    if declared.get("action") == "append":
        one = {"type": "array", "items": one, "maxItems": MOST_TEXTS}
    said = str(option.settings["help"]).replace("%%", "%").partition(" (default: %(")[0]
    usual = declared.get("default")
    return one | {"description": said} | ({} if usual in (None, []) else {"default": usual})


def option_of(command: Command, name: str) -> Option:
    """The option `--name` of a command."""
    return next(one for one in command.options if f"--{name}" in one.names)


def ask(
    command: Command, function: running.Function, model: str, options: Mapping[str, Any], root: Path | None
) -> Reply:
    """Run a command on a model. options: name without dashes -> value, None and empty lists left out.

    root: the folder below which folders of models are; None: bundled models only.

    Raises CommandError and EncoderError, whose texts say what to do.
    """
    words = line_of(command, model_place(model, root), options)
    parsed = parse(command, [*words, "--format", "json"])
    room.check(parsed)
    found = running.found(command, function, parsed)
    assert not isinstance(found, int)
    results = list(found)
    if len(results) != 1:
        raise Misuse(f"{command.name} runs one input by itself: ask about one text at a time.")
    return Reply(command, parsed, tuple(words), results[0])


def line_of(command: Command, place: str, options: Mapping[str, Any]) -> list[str]:
    """The words after the program's name. options: name without dashes -> value, None and empty lists left out."""
    return [*command.name.split(), place, *(word for name, value in options.items() for word in _words(name, value))]


def parse(command: Command, words: Sequence[str]) -> argparse.Namespace:
    """The options that the words after the program's name give. Raises Misuse."""
    return _Parser(command).parse_intermixed_args(words[len(command.name.split()) :])


def _words(name: str, value: Any) -> list[str]:
    """An option with its value; nothing for one that is not given."""
    if value is None or value is False or value == []:
        return []
    if value is True:
        return [f"--{name}"]
    if isinstance(value, list):
        if all(isinstance(one, int) for one in value):
            return [f"--{name}", ",".join(map(str, value))]
        return [word for one in value for word in _words(name, one)]
    return [f"--{name}={value}"]  # one word: a text may begin with a dash


def model_place(model: str, root: Path | None) -> str:
    """A bundled model, or a folder below `root`. Raises Misuse for any other, so that nothing is read or fetched."""
    if model in BUNDLED:
        return model
    if (folder := _below(root, model)) is not None:
        return str(folder)
    raise Misuse(f"no model {model[:80]!r} here: give one of {', '.join(BUNDLED)}{_or_folder(root)}.")


def file_place(file: str, root: Path | None) -> str:
    """A file below `root`. Raises Misuse for any other, and for a large one, so that nothing else is read."""
    found = _below(root, file)
    if found is None or not found.is_file():
        start = "start `encoderscope mcp --models-root FOLDER` with its folder"
        raise Misuse(f"no file {quoted(file[:80])} here: {start if root is None else f'name one in {root}'}.")
    if (size := found.stat().st_size) > MOST_BYTES:
        most = f"{MOST_BYTES / 1e6:,.0f} MB"
        raise Misuse(f"{found.name} has {size / 1e6:,.0f} MB, and the limit is {most}: send fewer texts.")
    return str(found)


def _below(root: Path | None, name: str) -> Path | None:
    """What has this name below `root`; None for nothing, and for any other place."""
    if root is None:
        return None
    try:
        place = (root / name).resolve()
        return place if place.is_relative_to(root.resolve()) and place.exists() else None
    except (OSError, ValueError, RuntimeError):  # too long, a null character, links in a circle
        return None


def _or_folder(root: Path | None) -> str:
    return (
        "; start `encoderscope mcp --models-root FOLDER` for your own" if root is None else f", or a folder in {root}"
    )


def check(given: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
    """Raise Misuse, in a sentence, for arguments that a question's schema does not allow."""
    from jsonschema import Draft202012Validator

    errors = Draft202012Validator(schema).iter_errors(dict(given))
    error = min(errors, key=lambda one: (one.validator != "additionalProperties", len(one.path)), default=None)
    if error is None:
        return
    name = ".".join(map(str, error.path))
    if error.validator == "additionalProperties":
        unknown = next(one for one in given if one not in schema["properties"])
        names = list(schema["properties"])
        raise Misuse(f"no argument {quoted(unknown)}: this question has {', '.join(names)}{near(unknown, names)}.")
    if error.validator == "required":
        missing = next(one for one in schema["required"] if one not in given)
        raise Misuse(f"{missing} is missing: {schema['properties'][missing].get('description', 'give it')}.")
    rule = error.validator_value
    allowed = SAID[str(error.validator)].format(", ".join(map(str, rule)) if isinstance(rule, list) else rule)
    raise Misuse(f"{name}: {quoted(error.instance)} does not fit: give {allowed}.")


#: Rule of a schema -> what fits it.
SAID = {
    "type": "a value of the type {}",
    "enum": "one of {}",
    "anyOf": "a value that the description names",
    "minimum": "a number from {} on",
    "maximum": "a number up to {}",
    "minLength": "a text of {} characters or more",
    "maxLength": "a text of up to {} characters",
    "minItems": "{} or more",
    "maxItems": "up to {}",
}
