"""Values of options: how the words of the command line become them, by the names that `commands.toml` uses."""

import argparse
import re
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from pathlib import Path

from encoder.inputs.label_prompt import names
from encoder.measure.head_definitions import BY_NAME

FORMATS = ("csv", "parquet", "json", "jsonl", "npz", "html", "png", "svg")
CHOICES: dict[str, Collection[str]] = {"formats": FORMATS, "measures": BY_NAME}


def whole(least: int = 0, most: int | None = None, words: Sequence[str] = ()) -> Callable[[str], int | str]:
    """The type of an option that is a whole number from `least` to `most`, or one of some words."""

    def read(text: str) -> int | str:
        if text in words:
            return text
        if not (text.isascii() and text.isdigit() and least <= int(text) <= (int(text) if most is None else most)):
            limit = "on" if most is None else f"to {most}"
            also = f", or {' or '.join(words)}" if words else ""
            raise argparse.ArgumentTypeError(f"{text!r}: specify a whole number from {least} {limit}{also}")
        return int(text)

    return read


def numbers(text: str) -> list[int]:
    """Whole numbers, like 3,5."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: specify whole numbers with commas between them, like 3,5")
    return [int(part) for part in parts]


def heads(text: str) -> list[tuple[int, int]]:
    """Heads as layer.head, like 0.2,1.8; each once."""
    if not re.fullmatch(r" *\d+\.\d+ *(, *\d+\.\d+ *)*", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: specify layer.head with commas between them, like 0.2,1.8")
    pairs = (part.split(".") for part in text.split(","))
    return list(dict.fromkeys((int(layer), int(head)) for layer, head in pairs))


def share(text: str) -> float:
    """A weight or a score."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: specify a number from 0 to 1")
    return value


def rooms(text: str) -> str:
    """The place of the rooms of classes."""
    if text not in ("memory", "off") and not text.startswith(("redis://", "rediss://", "unix://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not memory, off or an address like redis://localhost:6379/0")
    if text.startswith(("redis", "unix")) and find_spec("redis") is None:
        raise argparse.ArgumentTypeError("rooms in Redis need redis-py: pip install 'encoderscope[classroom]'")
    return text


#: Types by name; `whole` has limits of its own in each option.
TYPES: dict[str, Callable[[str], object]] = {
    "path": Path, "int": int, "float": float, "words": str.split, "numbers": numbers, "heads": heads, "share": share,
    "names": names, "rooms": rooms,
}  # fmt: skip
