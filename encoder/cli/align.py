"""The command `encoderscope align`: scores all heads against pairs of tokens that a CSV file gives."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.cli.arguments import CommandError, add_common_options, check_output, load_text_model, write_output

if TYPE_CHECKING:
    from encoder.cli.arguments import Subparsers

#: Heads that are printed without `--out`.
PRINTED = 10
FORMATS = {".csv": "a table of all heads"}


def align(options: argparse.Namespace) -> int:
    """Print the best heads and the baselines; with `--out`, write all heads as a table."""
    from encoder.errors import EncoderError
    from encoder.measure.head_alignment import read_pairs, score_heads

    if options.out is not None:
        check_output(options.out, FORMATS)
    try:
        model = load_text_model(options)
        trace = model.trace(options.text)
        found = score_heads(trace, read_pairs(options.pairs, trace))
    except EncoderError as error:
        raise CommandError(str(error)) from None
    rows = found.frame()
    if options.out is not None:
        write_output(options.out, rows.to_csv(index=False).encode())
    distance, precision = found.offset
    print(f"{len(found.pairs)} pairs; {len(rows)} heads of {model.name}")
    print(f"at random: precision {found.chance:.3f}; always {distance:+d} tokens away: precision {precision:.3f}")
    for row in rows.head(PRINTED).itertuples():
        print(f"L{row.layer} H{row.head}  precision {row.precision:.3f}  recall {row.recall:.3f}")
    return 0


def add_align(subparsers: Subparsers) -> None:
    """Add the command and its options to the command line."""
    parser = subparsers.add_parser(
        "align",
        help="score all heads against pairs of tokens that you know",
        description="Score all heads against an alignment: a CSV file with a query and a key in each row, as token "
        "numbers from 0 or as tokens that occur once. A head predicts the key with its largest weight.",
    )
    parser.add_argument("text", metavar="TEXT", help="the sentence")
    parser.add_argument("--pairs", type=Path, required=True, metavar="FILE", help="the CSV file of pairs")
    add_common_options(parser)
    parser.set_defaults(run=align)
