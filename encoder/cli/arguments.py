"""What the commands share: their error, the options for a model and a file, and how a file is written."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

    from encoder.encoders.text import TextEncoder


class CommandError(Exception):
    """An error of the command line, which the person there can correct; its text is the whole message."""


def load_text_model(options: argparse.Namespace) -> TextEncoder:
    """The model that `--model` and `--device` name, or its tower of texts. Raises EncoderError for one without."""
    from encoder import load
    from encoder.encoders.text import of_text

    first = next(iter(load(options.model, device=options.device).towers.values()))
    return of_text(first, "choose a text model with --model.")


def check_output(path: Path, formats: Mapping[str, str]) -> None:
    """Refuse a bad file name before the model is loaded."""
    if path.suffix.lower() not in formats:
        raise CommandError(f"--out {path}: end its name in one of {', '.join(formats)}.")
    if path.is_dir():
        raise CommandError(f"--out {path} is a folder; give the name of a file in it.")
    if not path.absolute().parent.is_dir():
        raise CommandError(f"--out {path}: no folder {path.parent}. Make it first, or choose another.")


def write_output(path: Path, content: bytes) -> None:
    """Write the whole file at once: after an interruption the old file or the new one is there, never a part."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        try:
            partial.write_bytes(content)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise CommandError(f"cannot write {path}: {reason}. Choose another place with --out.") from None


def add_common_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that runs a model and may write a file: --out, --model, --device."""
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file to write: .html, .csv or .parquet")
    parser.add_argument(
        "--model",
        default="minilm",
        metavar="MODEL",
        help="minilm, twin-pre, twin-post, digits-pre, digits-post, digit-words, spoken-digits, "
        "spoken-words, a folder or a Hub id "
        "(default: %(default)s)",
    )
    devices = "device of the model (default: %(default)s)"
    add_choice(parser, "--device", ("auto", "cpu", "cuda", "mps"), devices)


def add_choice(parser: argparse.ArgumentParser, name: str, choices: tuple[str, ...], text: str) -> None:
    """An option whose default is the first of its choices."""
    parser.add_argument(name, choices=choices, default=choices[0], help=text)
