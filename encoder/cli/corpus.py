"""The commands `corpus build`, `corpus show` and `corpus index`: all heads over a file of texts, as an atlas."""

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

import torch

from encoder import corpus
from encoder.cli import inputs, writing
from encoder.cli.command import STOPPED, CommandError, Result
from encoder.cli.progress import Shown
from encoder.corpus import Atlas, Source, iter_index, open_atlas
from encoder.corpus.building import Runner
from encoder.drawing import still


def build_atlas(options: argparse.Namespace) -> int:
    """Build an atlas, or go on with a build that was ended."""
    if not options.out.absolute().parent.is_dir():
        raise CommandError(f"--out {options.out}: no folder {options.out.parent}. Make it first, or choose another.")
    if options.norm != "trained" and (options.workers or options.ray):
        raise CommandError("Workers open the model with its norms as trained: leave --norm or --workers out.")
    source = source_of(options)
    source.check()
    run: Runner = corpus.in_process
    if options.workers is not None or options.ray is not None:
        workers = options.workers or 2
        threads = options.threads or max(1, (os.cpu_count() or 1) // workers)
        device = "cpu" if options.device == "auto" and options.ray is None else options.device
        run = corpus.Cluster(options.model, workers, threads, device, options.ray)
        run.check()
    elif options.threads:
        torch.set_num_threads(options.threads)
    settings = corpus.Settings(
        max_tokens=options.max_tokens,
        seed=options.seed,
        block_texts=options.block,
        key_tokens=tuple(dict.fromkeys(options.key_tokens)),
        vector_layers=tuple(sorted(set(options.vectors))),
        vector_texts=options.vector_texts,
    )
    model, shown = inputs.text_model(options), Shown()
    try:
        atlas = corpus.build(
            model,
            source,
            options.out,
            settings,
            run=run,
            seconds=options.checkpoint,
            replace=options.replace,
            progress=lambda now: shown(now.done, now.n_texts, now.before),
        )
    except KeyboardInterrupt:
        print("\nEnded. The same command goes on from the last checkpoint.", file=sys.stderr)
        return STOPPED
    inputs.say_left_out(atlas.problems(), atlas.n_left_out)
    writing.say(options, f"{options.out}: {_summary(atlas)}", {"Atlas": str(options.out)} | _facts(atlas))
    return 0


def source_of(options: argparse.Namespace) -> Source:
    """The texts of the options, with their labels. Raises CommandError for two sources."""
    given, name = (options.texts, "")
    if given == "-":
        given, name = inputs.standard_input(), "input.txt"
    elif options.text:
        if given:
            raise CommandError("An atlas has one source of texts: specify --text or --texts.")
        given = options.text
    return corpus.Source(given, options.column, tuple(options.label), options.most, name)


def _summary(atlas: Atlas) -> str:
    return (
        f"{atlas.n_texts:,} texts, {atlas.n_tokens:,} tokens, {atlas.left_out}, {atlas.n_cut:,} cut; "
        f"{atlas.n_layers} x {atlas.n_heads} heads of {atlas.model_name}; {_bytes(atlas) / 1e6:,.1f} MB"
    )


def _facts(atlas: Atlas) -> dict[str, Any]:
    return {
        "Model": atlas.model_name,
        "Layers": atlas.n_layers,
        "Heads": atlas.n_heads,
        "Texts": atlas.n_texts,
        "Tokens": atlas.n_tokens,
        "Left out": atlas.n_left_out,
        "Blank": atlas.n_blank,
        "Cut": atlas.n_cut,
        "Bytes": _bytes(atlas),
    }


def _bytes(atlas: Atlas) -> int:
    return sum(int(file["bytes"]) for file in atlas.manifest["files"].values())


def show_atlas(options: argparse.Namespace) -> Iterator[Result]:
    """Verify every file of an atlas; what it holds, and one of its tables: by default the types of heads."""
    atlas = open_atlas(options.atlas)
    atlas.verify()
    table = atlas.table(options.table)
    shown = table
    if options.table == "types":
        shown = table[table["by_mean"]].drop(columns=["by_mean", "support"])
    yield Result(
        lambda: [table],
        lambda: {name: atlas.array(name) for name in atlas.measures},
        lambda: still.of_heads(options.measure, atlas.array(options.measure)),
        name=f"{len(table):,} rows",
        facts=_facts(atlas),
        shown=lambda: shown,
        said="\n".join(filter(None, (f"{options.atlas}: {_summary(atlas)}", atlas.caution))),
    )


def index_atlas(options: argparse.Namespace) -> int:
    """Make an atlas ready for a search for words."""
    atlas = open_atlas(options.atlas)
    layers = atlas.vector_layers if options.layer is None else (options.layer,)
    if not layers:
        raise CommandError(f"{options.atlas} has no vectors of tokens: build it with --vectors.")
    for layer in layers:
        shown = Shown()
        for share in iter_index(atlas, layer):
            shown(share)
    several = " and ".join(map(str, layers))
    writing.say(
        options,
        f"{options.atlas}: ready for a search for words at layer {several}",
        {"Atlas": str(options.atlas), "Layers": list(layers)},
    )
    return 0
