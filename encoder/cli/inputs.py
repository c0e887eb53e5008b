"""What a command runs on: the model, and its texts, images or sounds, as the command line names them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from encoder import own
from encoder.cli.command import Command, CommandError
from encoder.cli.progress import track

if TYPE_CHECKING:
    from encoder.encoders.joint import JointEncoder
    from encoder.encoders.named import NamedEncoder
    from encoder.encoders.text import TextEncoder
    from encoder.run import ModelSpec
    from encoder.trace.trace import Trace

#: Rows that were left out and are named.
PRINTED = 5
#: Models that one process keeps open.
MOST_OPEN = 2
#: Each of them, under its name or folder.
_OPEN: WeakValueDictionary[str, NamedEncoder | JointEncoder] = WeakValueDictionary()
#: What commands.toml calls the value of an option that names a file or a folder.
PATHS = ("FILE", "ATLAS", "DIR", "ADDRESS")


class Misuse(CommandError):
    """Words that do not fit the grammar: wrong usage."""


def settle(options: argparse.Namespace, command: Command) -> None:
    """Make `options.model`, `.text`, `.texts` and `.file` of the words on the line.

    Raises Misuse for no model, or no input.
    """
    if options.run is not None:
        _take_run(options, command)
        return
    files = "" if command.takes == "texts" else " --file FILE,"
    ways = f"--text TEXT, --texts FILE,{files} or - for standard input."
    words, from_pipe = list(options.given), "-" in options.given[1:]
    words = [word for word in words[:1] if word] + [word for word in words[1:] if word != "-"]
    if len(words) != 1:
        said = f"{' '.join(words[1:])[:60]!r} follows MODEL" if words else "MODEL is missing"
        raise Misuse(f"{said}: write {command.name} MODEL, then {ways}")
    options.model = words[0]
    options.texts = "-" if from_pipe else options.texts
    if options.file and not files:
        raise Misuse(f"{command.name} accepts texts only: specify {ways}")
    needs_no_input = command.needs_no_input or options.model.endswith((".safetensors", ".parquet"))  # a file of maps
    if not (options.text or options.texts or options.file or needs_no_input):
        raise Misuse(f"no input: specify {ways}")


def files_of(options: argparse.Namespace, command: Command) -> list[Path]:
    """What a command may read: the model's folder, every file and folder that its options name, the user's own file.

    A name without a file is among them, too.
    """
    words = [*getattr(options, "given", [])[:1], os.environ.get(own.FILE)]
    for one in command.options:
        if one.settings.get("metavar") in PATHS and "--out" not in one.names:
            found = getattr(options, one.destination, None)
            words += found if isinstance(found, list) else [found]
    return [Path(word) for word in words if word not in (None, "", "-")]


def check_texts(options: argparse.Namespace, command: Command) -> None:
    """Raise Misuse for a word that is not text: a shell may give any bytes. A name of a file may have any."""
    for one in command.options:
        if one.settings.get("metavar") not in (*PATHS, "FOLDER", "FILE.md", "FILE.md|FOLDER"):
            found = getattr(options, one.destination, None)
            for word in found if isinstance(found, list) else [found]:
                if isinstance(word, str) and any("\ud800" <= char <= "\udfff" for char in word):
                    raise Misuse(f"{one.names[0]} {word[:40]!a} is not UTF-8: set the terminal to UTF-8.")


def _take_run(options: argparse.Namespace, command: Command) -> None:
    """Make the model, the input and the place of --run those of the command. Raises Misuse for a second input."""
    from encoder.run import UNTRAINED
    from encoder.run.address import read_link
    from encoder.run.command import is_given, place_options
    from encoder.run.files import open_run

    if options.given or options.text or options.texts or options.file:
        raise Misuse("--run names the model and its input: leave MODEL, --text, --texts and --file out.")
    if command.takes != "each":
        raise Misuse(f"{command.name} takes no --run: write {command.name} MODEL, then --text or --texts.")
    if options.run.endswith((".html", ".parquet")) and "=" not in options.run:
        options.run = open_run(options.run)
    else:
        options.run = read_link(options.run if "?" in options.run else f"?{options.run}").run
    options.model = UNTRAINED if options.run.model.untrained else options.run.model.source
    for name, value in place_options(options.run).items():
        if hasattr(options, name) and not is_given(getattr(options, name)):
            setattr(options, name, value)


def towers(options: argparse.Namespace) -> list[NamedEncoder]:
    """The encoders of the model, that of texts first, with the norms where --norm says."""
    found = list(_opened(options.model, options.device, _state_of(options.model)).towers.values())
    return found if options.norm == "trained" else [one.with_norm_placement(options.norm) for one in found]


@lru_cache(MOST_OPEN)
def _opened(source: str, device: str, state: int) -> NamedEncoder | JointEncoder:
    """The model, which stays open for the next question to it. state: of its files, so that changed ones open again."""
    from encoder.checkpoints import load

    model = load(source, device=device)
    _OPEN[source] = model
    return model


def close_models() -> None:
    """Forget the models that stay open."""
    _opened.cache_clear()


def open_models() -> tuple[str, ...]:
    """The names and folders of the models that stay open."""
    return tuple(sorted(_OPEN))


def _state_of(source: str) -> int:
    """The last change of a folder's files, in nanoseconds; 0 for a name."""
    try:
        return max((one.stat().st_mtime_ns for one in os.scandir(source)), default=0)
    except OSError:
        return 0


def text_model(options: argparse.Namespace) -> TextEncoder:
    """The model, or its encoder of texts. Raises EncoderError for a model without one."""
    from encoder.encoders.text import of_text

    return of_text(towers(options)[0], "choose a text model.")


def spec(options: argparse.Namespace) -> ModelSpec:
    """How Python opens the same model."""
    from encoder.run import ModelSpec

    if options.run is not None:
        found: ModelSpec = options.run.model
        return found
    return ModelSpec(options.model, norm=options.norm, device=options.device)


def texts(options: argparse.Namespace) -> list[str]:
    """All texts: those of --text, then those of --texts. Rows that are left out are named on standard error."""
    from encoder.corpus.rows import LIMITS
    from encoder.inputs.read import read_texts

    found = list(options.text or [])
    if options.texts:
        given, name = (standard_input(), "input.txt") if options.texts == "-" else (options.texts, "")
        read = read_texts(given, name, LIMITS, text=options.column)
        say_left_out(read.problems, read.n_left_out)
        found += read.texts
    return found


def say_left_out(problems: Sequence[str], total: int) -> None:
    """Name the first rows that were left out, and their number, on standard error."""
    for problem in problems[:PRINTED]:
        print(f"left out: {problem}", file=sys.stderr)
    if total > PRINTED:
        print(f"left out: {total:,} in all", file=sys.stderr)


def say_n_cut(n_cut: int, count: int) -> str:
    """Say on standard error how many texts are cut, and return the sentence; "" where none is."""
    said = f"{n_cut:,} of {count:,} texts are cut: the model uses their beginnings" if n_cut else ""
    if said:
        print(f"cut: {said}.", file=sys.stderr)
    return said


def say_cut(which: str, words: str) -> None:
    """Say on standard error that a text is cut. words: the last ones that the model uses, "" for those of a pair."""
    upto = f": the model uses it up to “{words}”" if words else ""
    print(f"cut: {which} is longer than the model accepts{upto}. Split it to use all of it.", file=sys.stderr)


def standard_input() -> bytes:
    """All of standard input. Raises CommandError where there is none."""
    if sys.stdin is None:
        raise CommandError("No input to read texts from: specify --text TEXT instead of -.")
    content = sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    return bytes(content)


@dataclass(frozen=True)
class Input:
    """One input that was run. number: from 0; alone: whether there is no other; options: of the command."""

    number: int
    model: NamedEncoder
    trace: Trace
    alone: bool
    options: argparse.Namespace

    def facts(self, **more: object) -> dict[str, str]:
        """What a file says about its numbers; of several inputs, the model and `more` only."""
        from encoder.export import report

        if self.alone:
            return report.facts(self.model, self.trace, **more) | {"Text": report.typed(self.trace)}
        return {"Model": report.model_fact(self.model)} | {name.capitalize(): str(said) for name, said in more.items()}


def traces(options: argparse.Namespace, request: tuple[str, ...] = ()) -> Iterator[Input]:
    """Every input: texts, then files. A model of images or sounds takes files only. The first that are cut, and their
    number, are named on standard error.

    The options pair and pad_to, where a command has them, are those of `TextEncoder.trace`, and labels come before each
    text (`classify.with_labels`); request: of `trace`.
    """
    n_cut = 0
    for one in _run_each(options, request):
        if (words := _cut_at(one.trace)) is not None:
            n_cut += 1
            if n_cut <= PRINTED:
                say_cut("the text" if one.alone else f"text {one.number + 1}", words)
        yield one
    if n_cut > PRINTED:
        print(f"cut: {n_cut:,} texts in all", file=sys.stderr)


def _cut_at(trace: Trace) -> str | None:
    """The last words that the model uses of a text that is cut, "" of a pair; None of a whole text, or of a window."""
    from encoder.scores.parts import cut_at

    source = trace.source
    if source is None or not source.cut:
        return None
    if source.pair is not None:
        return ""
    start = next((first for first, end in source.offsets if end), 0)
    return None if source.text[:start].strip() else cut_at(source)


def _run_each(options: argparse.Namespace, request: tuple[str, ...]) -> Iterator[Input]:
    from encoder.classify import with_labels
    from encoder.encoders.signal import SignalEncoder
    from encoder.encoders.text import of_text
    from encoder.inputs.box_files import open_words
    from encoder.inputs.html_nodes import open_page

    labels = getattr(options, "labels", None)
    if options.run is not None:
        model = options.run.model.open()
        run = options.run.but(text=with_labels(model, labels, options.run.text)) if labels else options.run
        yield Input(0, model, run.trace(model, request=request), True, options)
        return
    models = towers(options)
    if models[0].takes in ("maps", "cross"):
        yield Input(0, models[0], models[0].trace(None), True, options)
        return
    pair, pad_to = getattr(options, "pair", None), getattr(options, "pad_to", None)
    given: list[tuple[NamedEncoder, str | Path]] = [(models[0], text) for text in texts(options)]
    given += [(models[-1], file) for file in options.file or []]
    for number, (model, one) in enumerate(track(given, len(given), "inputs")):
        if isinstance(one, Path) and model.config.places is not None:
            encoder = of_text(model, "choose a text model.")
            if model.config.boxes is None:
                page = open_page(one)
                found = encoder.trace(page.text, pair, nodes=page.nodes, pad_to=pad_to, request=request)
            else:
                words = open_words(one)
                found = encoder.trace(words.text, pair, boxes=words.boxes, pad_to=pad_to, request=request)
            yield Input(number, model, found, len(given) == 1, options)
            continue
        if isinstance(one, Path) and not isinstance(model, SignalEncoder):
            raise CommandError(f"{model.name} accepts text: specify --texts {one} for the texts of a file.")
        if isinstance(model, SignalEncoder) and pair is None and pad_to is None:
            found = model.trace(model.open(Path(one)), request=request)
        else:
            encoder = of_text(model, "leave --pair and --pad-to out.")
            text = with_labels(encoder, labels, str(one)) if labels else str(one)
            found = encoder.trace(text, pair, pad_to=pad_to, request=request)
        yield Input(number, model, found, len(given) == 1, options)
