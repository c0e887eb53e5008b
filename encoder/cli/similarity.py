"""The command `encoderscope similarity`: splits the similarity of two sentences among pairs of tokens."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from encoder.cli.arguments import (
    CommandError,
    add_choice,
    add_common_options,
    check_output,
    load_text_model,
    write_output,
)

if TYPE_CHECKING:
    from encoder.cli.arguments import Subparsers
    from encoder.similarity import Attribution

#: Cells that are printed without `--out`.
PRINTED = 10


def compare_sentences(options: argparse.Namespace) -> int:
    """Split the cosine of two sentences and write the cells to a file; without `--out`, print the largest cells."""
    from encoder import similarity
    from encoder.errors import EncoderError
    from encoder.export import report
    from encoder.export import similarity as export
    from encoder.export.python_code import Origin

    if options.out is not None:
        check_output(options.out, report.FORMATS)
    origin = Origin(options.model, device=options.device)
    texts = (options.first, options.second)
    progress = _print_progress if sys.stderr.isatty() else None
    try:
        model = load_text_model(options)
        layer = model.config.n_layers if options.layer == "output" else options.layer
        found = similarity.attribute(model, *texts, layer, options.steps, options.reference, progress)
        if options.out is None:
            _print_cells(found)
            return 0
        suffix = options.out.suffix.lower()
        deletion = similarity.leave_words_out(model, *texts) if suffix == ".html" else None
        content = export.file(suffix, model, origin, found, deletion)
    except EncoderError as error:
        raise CommandError(str(error)) from None
    write_output(options.out, content)
    print(f"{options.out}: cosine {found.cosine:.4f} of {model.name}, {len(content):,} bytes")
    return 0


def _print_progress(share: float) -> None:
    print(f"\r{share:4.0%}", end="" if share < 1 else "\n", file=sys.stderr, flush=True)


def _print_cells(found: Attribution) -> None:
    """Print the cosine, the sum of all cells and its error, and the largest cells."""
    terms = ""
    if not found.is_exact:
        terms = ", reference terms: " + ", ".join(f"{term:.4f}" for term in found.references)
    print(f"cosine: {found.cosine:.4f}{terms}")
    print(f"sum of the cells: {found.matrix.sum():.4f}, error: {found.error:.2g}, steps: {found.steps}")
    for i, j, value in found.largest(PRINTED):
        print(f"{value:+.3f}  {found.labels[0][i]} - {found.labels[1][j]}", flush=True)


def add_similarity(subparsers: Subparsers) -> None:
    """Add the command and its options to the command line."""
    similarity = subparsers.add_parser(
        "similarity",
        help="split the similarity of two sentences among pairs of tokens",
        description="Split the cosine similarity of two sentences among pairs of tokens, and save it: as a report that "
        "opens without a network (.html) or as a table of all pairs (.csv, .parquet). Without --out it prints the "
        "largest cells.",
    )
    similarity.add_argument("first", metavar="A", help="the first sentence")
    similarity.add_argument("second", metavar="B", help="the second sentence")
    similarity.add_argument(
        "--layer",
        type=_layer,
        default=0,
        metavar="N",
        help="attribute to the input of layer N; 0: the embeddings, output: the exact split (default: %(default)s)",
    )
    references = "start of the path: padding tokens at the same positions, or zero vectors (default: %(default)s)"
    add_choice(similarity, "--reference", ("pad", "zero"), references)
    similarity.add_argument(
        "--steps",
        type=_steps,
        default="auto",
        metavar="N",
        help="points on the path (default: until the error is small)",
    )
    add_common_options(similarity)
    similarity.set_defaults(run=compare_sentences)


def _layer(text: str) -> int | str:
    return _number_or(text, "output", "layer")


def _steps(text: str) -> int | str:
    return _number_or(text, "auto", "number of steps")


def _number_or(text: str, word: str, kind: str) -> int | str:
    if text == word:
        return text
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}: specify a whole number, or {word}")
    return int(text)
