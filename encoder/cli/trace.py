"""The command `encoderscope trace`: runs a sentence and writes what one head does with it to a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.cli.arguments import (
    CommandError,
    add_choice,
    add_common_options,
    check_output,
    write_output,
)

if TYPE_CHECKING:
    from encoder.cli.arguments import Subparsers
    from encoder.encoders.named import NamedEncoder
    from encoder.export import HeadView
    from encoder.measure.passage import Direction
    from encoder.trace.trace import Trace


def trace_sentence(options: argparse.Namespace) -> int:
    """Run one sentence and write one head of it to a file; without `--out`, print its strongest weights."""
    from encoder.errors import EncoderError
    from encoder.export import report
    from encoder.export.python_code import ModelOrigin

    if options.out is not None:
        check_output(options.out, report.FORMATS)
    if options.padding and options.pad_to is None:
        raise CommandError("--padding needs --pad-to N: specify that length too, or leave --padding out.")
    origin = ModelOrigin(options.model, norm=options.norm, device=options.device)
    try:
        trace, model = _run(options)
        view = _view_of(trace if options.padding else trace.unpadded, options)
        if options.out is None:
            print(view.strongest().to_string(index=False, float_format="{:.3f}".format), flush=True)
            return 0
        content = report.file(options.out.suffix.lower(), model, origin, view)
    except EncoderError as error:
        raise CommandError(str(error)) from None
    write_output(options.out, content)
    print(f"{options.out}: {view.name} of {model.name}, {view.trace.n_tokens:,} tokens, {len(content):,} bytes")
    return 0


def _run(options: argparse.Namespace) -> tuple[Trace, NamedEncoder]:
    """The trace of the sentence or, for a model of images or of sound, of the file, and the model or its tower."""
    from encoder import load
    from encoder.encoders.signal import SignalEncoder
    from encoder.encoders.text import of_text

    towers = list(load(options.model, device=options.device).towers.values())
    model: NamedEncoder = towers[-1] if _is_file(options.sentence) else towers[0]  # of a pair, images are the last
    if options.norm != "trained":
        model = model.with_norm_placement(options.norm)
    if isinstance(model, SignalEncoder) and options.pair is None and options.pad_to is None:
        return model.trace(model.open(Path(options.sentence))), model
    text_model = of_text(model, "leave --pair and --pad-to out.")
    text = options.sentence
    if text == "-":
        if sys.stdin is None:
            raise CommandError("No input to read the sentence from: specify it in quotes instead of -.")
        text = sys.stdin.read().strip()
    return text_model.trace(text, options.pair, pad_to=options.pad_to), text_model


def _is_file(sentence: str) -> bool:
    try:
        return Path(sentence).is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False


def _view_of(trace: Trace, given: argparse.Namespace) -> HeadView:
    """The view that the options ask for. Raises CommandError for an option of another view."""
    from encoder import export

    for name, view in {"overlay": "lines", "minimum_weight": "lines", "direction": "text"}.items():
        if getattr(given, name) is not None and given.view != view:
            raise CommandError(
                f"--{name.replace('_', '-')} belongs to --view {view}: leave it out, or choose that view."
            )
    selected = given.select or ()
    if any(token >= trace.n_tokens for token in selected):
        raise CommandError(f"--select: the tokens of this text are 0 to {trace.n_tokens - 1}.")
    options = export.Options(special=given.special, padding=given.padding)
    place = (given.layer, given.head)
    if given.view == "lines":
        heads = list(dict.fromkeys([place, *(given.overlay or ())]))
        return export.lines(trace, heads, threshold=given.minimum_weight or 0.0, queries=selected, options=options)
    if given.view == "text":
        direction: Direction = given.direction or "to"
        return export.text(trace, *place, direction=direction, selected=selected, options=options)
    return export.map(trace, *place, queries=selected, options=options)


def add_trace(subparsers: Subparsers) -> None:
    """Add the command and its options to the command line."""
    trace = subparsers.add_parser(
        "trace",
        help="run a sentence and save what one head attends to",
        description="Run a sentence and save what one head attends to: as a report that opens without a network "
        "(.html) or as attention weights (.csv, .parquet). Without --out it prints the strongest weights.",
    )
    trace.add_argument(
        "sentence",
        metavar="SENTENCE",
        help="the input text, - reads it from standard input; for a model of images or sound, a file",
    )
    trace.add_argument("--pair", metavar="SENTENCE", help="a second sentence, for segment B")
    trace.add_argument("--pad-to", type=int, metavar="N", help="pad the text to N tokens, as in a batch")
    trace.add_argument(
        "--padding", action="store_true", help="show the rows and columns of padding (default: left out)"
    )
    trace.add_argument("--layer", type=int, default=0, metavar="N", help="from 0 (default: %(default)s)")
    trace.add_argument("--head", type=int, default=0, metavar="N", help="from 0 (default: %(default)s)")
    add_common_options(trace)
    norms = "placement of the LayerNorms (default: as trained; pre and post move them without retraining)"
    special = "special tokens such as [CLS]: shown, set to 0, or left out with rows scaled to sum to 1"
    views = "a map, lines from token to token, or the shaded text (default: %(default)s)"
    add_choice(trace, "--norm", ("trained", "pre", "post"), norms)
    add_choice(trace, "--special", ("show", "zero", "renormalise"), special)
    add_choice(trace, "--view", ("map", "lines", "text"), views)
    trace.add_argument(
        "--select",
        "--hold",
        dest="select",
        type=_numbers,
        metavar="N,N",
        help="positions of the selected tokens, from 0; their weights are summed",
    )
    trace.add_argument(
        "--overlay", type=_heads, metavar="L.H,L.H", help="lines: more heads, as layer.head, drawn over this one"
    )
    trace.add_argument(
        "--minimum-weight",
        "--least",
        dest="minimum_weight",
        type=_share,
        metavar="W",
        help="lines: draw no weight below W (default: 0)",
    )
    trace.add_argument(
        "--direction",
        choices=("to", "from"),
        help="text: shade it by what the selected tokens attend to, or by what attends to them (default: to)",
    )
    trace.set_defaults(run=trace_sentence)


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: specify whole numbers with commas between them, like 3,5")
    return [int(part) for part in parts]


def _heads(text: str) -> list[tuple[int, int]]:
    found = []
    for part in text.split(","):
        layer, _, head = part.strip().partition(".")
        if not (layer.isascii() and layer.isdigit() and head.isascii() and head.isdigit()):
            raise argparse.ArgumentTypeError(f"{text!r}: specify layer.head with commas between them, like 0.2,1.8")
        found.append((int(layer), int(head)))
    return list(dict.fromkeys(found))


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a weight: specify a number from 0 to 1")
    return value
