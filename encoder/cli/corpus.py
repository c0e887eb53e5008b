"""The commands `corpus build`, `corpus show` and `corpus index`: all heads over a file of texts, as an atlas."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.cli import inputs
from encoder.cli.command import FORMATS, STOPPED, Command, CommandError, Result, numbers, option, whole
from encoder.cli.progress import Shown

if TYPE_CHECKING:
    from encoder.corpus import Atlas, Source


def build_atlas(options: argparse.Namespace) -> int:
    """Build an atlas, or go on with a build that was ended."""
    from encoder import corpus

    if not options.out.absolute().parent.is_dir():
        raise CommandError(f"--out {options.out}: no folder {options.out.parent}. Make it first.")
    if options.norm != "trained" and (options.workers or options.ray):
        raise CommandError("Workers open the model with its norms as trained: leave --norm or --workers out.")
    source = _source(options)
    source.check()
    run = corpus.in_process
    if options.workers is not None or options.ray is not None:
        workers = options.workers or 2
        threads = options.threads or max(1, (os.cpu_count() or 1) // workers)
        device = "cpu" if options.device == "auto" and options.ray is None else options.device
        run = corpus.Cluster(options.model, workers, threads, device, options.ray)
        run.check()
    elif options.threads:
        set_threads(options.threads)
    settings = corpus.Settings(
        max_tokens=options.max_tokens, seed=options.seed, block_texts=options.block, key_tokens=options.key_tokens,
        vector_layers=options.vectors, vector_texts=options.vector_texts,
    )  # fmt: skip
    model, shown = inputs.text_model(options), Shown()
    try:
        atlas = corpus.build(
            model, source, options.out, settings, run=run, seconds=options.checkpoint, replace=options.replace,
            progress=lambda now: shown(now.done, now.n_texts, now.before),
        )  # fmt: skip
    except KeyboardInterrupt:
        print("\nEnded. The same command goes on from the last checkpoint.", file=sys.stderr)
        return STOPPED
    inputs.say_left_out(atlas.problems(), atlas.n_left_out)
    print(f"{options.out}: {_summary(atlas)}")
    return 0


def _source(options: argparse.Namespace) -> Source:
    from encoder import corpus

    given, name = (options.texts, "")
    if given == "-":
        given, name = inputs.standard_input(), "input.txt"
    elif options.text:
        if given:
            raise CommandError("An atlas has one source of texts: specify --text or --texts.")
        given = options.text
    return corpus.Source(given, options.column, tuple(options.label), options.most, name)


def set_threads(threads: int) -> None:
    """Let torch use so many threads in this process."""
    import torch

    torch.set_num_threads(threads)


def _summary(atlas: Atlas) -> str:
    return (
        f"{atlas.n_texts:,} texts, {atlas.n_tokens:,} tokens, {atlas.left_out}, {atlas.n_cut:,} cut; "
        f"{atlas.n_layers} x {atlas.n_heads} heads of {atlas.model_name}; {_bytes(atlas) / 1e6:,.1f} MB"
    )


def _bytes(atlas: Atlas) -> int:
    return sum(int(file["bytes"]) for file in atlas.manifest["files"].values())


def show_atlas(options: argparse.Namespace) -> Iterator[Result]:
    """Verify every file of an atlas; what it holds, and one of its tables: by default the types of heads."""
    from encoder.corpus import open_atlas
    from encoder.export import still

    atlas = open_atlas(options.atlas)
    atlas.verify()
    table = atlas.table(options.table)
    shown = table
    if options.table == "types":
        shown = table[table["by_mean"]].drop(columns=["by_mean", "support"])
    yield Result(
        lambda: [table], lambda: {name: atlas.array(name) for name in atlas.measures},
        lambda: still.of_heads(options.measure, atlas.array(options.measure)), name=f"{len(table):,} rows",
        facts={"Model": atlas.model_name, "Layers": atlas.n_layers, "Heads": atlas.n_heads, "Texts": atlas.n_texts,
               "Tokens": atlas.n_tokens, "Left out": atlas.n_left_out, "Blank": atlas.n_blank, "Cut": atlas.n_cut,
               "Bytes": _bytes(atlas)},
        shown=lambda: shown, said=f"{options.atlas}: {_summary(atlas)}",
    )  # fmt: skip


def index_atlas(options: argparse.Namespace) -> int:
    """Make an atlas ready for Search."""
    from encoder.corpus import iter_index, open_atlas

    atlas = open_atlas(options.atlas)
    layers = atlas.vector_layers if options.layer is None else (options.layer,)
    if not layers:
        raise CommandError(f"{options.atlas} has no vectors of tokens: build it with --vectors.")
    for layer in layers:
        shown = Shown()
        for share in iter_index(atlas, layer, options.exact):
            shown(share)
        print(f"{options.atlas}: layer {layer} is ready for Search")
    return 0


def _layers(text: str) -> tuple[int, ...]:
    return tuple(sorted(set(numbers(text))))


def _words(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for part in text.split(" ") if (word := part.strip())))


ATLAS = option("atlas", type=Path, metavar="ATLAS", help="the folder of an atlas")
COMMANDS = (
    Command(
        "corpus build", "measure all heads over a file of texts, as an atlas",
        "corpus build twin-pre --texts wordnet --most 200 --out atlas", build_atlas, takes="texts",
        about="Run every text of a file through the model and write an atlas: a folder with the measures of all heads "
        "(docs/atlas.md). --texts wordnet has the bundled sentences. A build that was ended goes on from its last "
        "checkpoint when you repeat the command.",
        options=(
            option("--out", type=Path, required=True, metavar="ATLAS", help="the folder to write"),
            option("--label", action="append", default=[], metavar="COLUMN", help="a column of labels; again for more"),
            option("--most", type=whole(1), metavar="N", help="the first N texts only (default: all)"),
            option("--max-tokens", type=whole(), metavar="N", help="cut a text here (default: what the model accepts)"),
            option("--key-tokens", type=_words, default=(), metavar="'WORD WORD'",
                   help="also record the attention to these words, next to special tokens, full stops and commas"),
            option("--vectors", type=_layers, default=(), metavar="N,N",
                   help="keep token vectors of these layers (0: embeddings)"),
            option("--vector-texts", type=whole(), default=5_000, metavar="N", help="of the first N texts"),
            option("--workers", type=whole(1), metavar="N", help="number of Ray workers (extra: corpus)"),
            option("--ray", metavar="ADDRESS", help="a running Ray cluster: auto, or HOST:PORT"),
            option("--threads", type=whole(1), metavar="N", help="of each process (with workers: cores / workers)"),
            option("--seed", type=whole(), default=0, metavar="N", help="of the bootstrap"),
            option("--block", type=whole(), default=500, metavar="N", help="texts of a block"),
            option("--checkpoint", type=float, default=30.0, metavar="SECONDS", help="between two checkpoints"),
            option("--replace", action="store_true", help="replace the atlas once the new one is whole"),
        ),
    ),
    Command(
        "corpus show", "verify an atlas, and export any of its tables", "corpus show atlas --json", show_atlas,
        formats=FORMATS, about="Verify every file of an atlas; print what it holds, and the types of its heads.",
        options=(
            ATLAS,
            option("--table", default="types", metavar="NAME",
                   help="types, heads, key_tokens, profile, labels, or another table of docs/atlas.md"),
            option("--measure", default="relative_entropy", metavar="NAME", help="the measure that a picture shows"),
        ),
    ),
    Command(
        "corpus index", "make a large atlas ready for Search", "corpus index atlas", index_atlas,
        about="Write the token vectors of an atlas in a form that Search opens at once, in its folder index. Many "
        "tokens get a graph, which may miss a neighbour.",
        options=(
            ATLAS,
            option("--layer", type=whole(), metavar="N", help="one layer only (default: all with vectors)"),
            option("--exact", type=whole(), default=3_000_000, metavar="N",
                   help="up to N tokens without a graph; a graph needs the extra index"),
        ),
    ),
)  # fmt: skip
