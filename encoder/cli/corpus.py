"""The command `encoderscope corpus`: builds an atlas of a corpus, and says what is in one."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from encoder.cli.arguments import CommandError, add_choice, load_text_model

if TYPE_CHECKING:
    from encoder.cli.arguments import Subparsers
    from encoder.corpus import Atlas, Progress

#: Seconds between two lines of progress without a terminal.
BETWEEN_LINES = 10.0
#: Rows that were left out and are printed.
PRINTED = 5


def build_atlas(options: argparse.Namespace) -> int:
    """Build an atlas, or go on with a build that was ended."""
    from encoder import corpus
    from encoder.errors import EncoderError

    if not options.out.absolute().parent.is_dir():
        raise CommandError(f"--out {options.out}: no folder {options.out.parent}. Make it first.")
    source = corpus.Source(str(options.texts), options.text, tuple(options.label), options.most)
    try:
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
        model = load_text_model(options)
        settings = corpus.Settings(
            max_tokens=options.max_tokens,
            seed=options.seed,
            block_texts=options.block,
            vector_layers=options.vectors,
            vector_texts=options.vector_texts,
        )
        show = _Shown()
        for progress in corpus.build(
            model, source, options.out, settings, run=run, seconds=options.checkpoint, replace=options.replace
        ):
            show(progress)
        atlas = corpus.open_atlas(options.out)
        _print_left_out(atlas)
    except EncoderError as error:
        raise CommandError(str(error)) from None
    except KeyboardInterrupt:
        print("\nEnded. The same command goes on from the last checkpoint.", file=sys.stderr)
        return 130
    print(f"{options.out}: {_summary(atlas)}")
    return 0


def set_threads(threads: int) -> None:
    """Let torch use so many threads in this process."""
    import torch

    torch.set_num_threads(threads)


class _Shown:
    """Progress on standard error: one line that changes, or on no terminal a line every ten seconds."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._terminal = sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        ends = progress.finished
        if not ends and now - self._last < (0.2 if self._terminal else BETWEEN_LINES):
            return
        self._last = now
        line = progress_line(progress, now - self._start)
        if self._terminal:
            print(f"\r{line:<70}", end="\n" if ends else "", file=sys.stderr, flush=True)
        else:
            print(line, file=sys.stderr, flush=True)


def progress_line(progress: Progress, seconds: float) -> str:
    """Texts, rate and time left: "1,200 of 4,000 texts, 210 texts/s, 0:13 left"."""
    line = f"{progress.done:,} of {progress.n_texts:,} texts"
    new = progress.done - progress.before
    if new <= 0 or seconds <= 0:
        return line
    rate = new / seconds
    left = round((progress.n_texts - progress.done) / rate)
    minutes, rest = divmod(left, 60)
    clock = f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
    return f"{line}, {rate:,.3g} texts/s, {clock} left"


def _print_left_out(atlas: Atlas) -> None:
    for problem in atlas.problems()[:PRINTED]:
        print(f"left out: {problem}", file=sys.stderr)
    if atlas.n_left_out > PRINTED:
        print(f"left out: {atlas.n_left_out:,} in all; problems.parquet names them", file=sys.stderr)


def _summary(atlas: Atlas) -> str:
    size = sum(file["bytes"] for file in atlas.manifest["files"].values())
    return (
        f"{atlas.n_texts:,} texts, {atlas.n_tokens:,} tokens, {atlas.left_out}, {atlas.n_cut:,} cut; "
        f"{atlas.n_layers} x {atlas.n_heads} heads of {atlas.model_name}; {size / 1e6:,.1f} MB"
    )


def show_atlas(options: argparse.Namespace) -> int:
    """Verify every file of an atlas; print what it holds, and the type of each head that has one."""
    from encoder.corpus import open_atlas
    from encoder.errors import EncoderError

    try:
        atlas = open_atlas(options.atlas)
        atlas.verify()
        print(f"{options.atlas}: {_summary(atlas)}")
        types = atlas.types()
        for row in types[types["by_mean"]].to_dict("records"):
            print(
                f"L{row['layer']} H{row['head']}  {row['type']:<8}  by itself in {row['share']:4.0%} of the texts "
                f"({row['low']:.0%} to {row['high']:.0%})",
                flush=True,
            )
    except EncoderError as error:
        raise CommandError(str(error)) from None
    return 0


def index_atlas(options: argparse.Namespace) -> int:
    """Make an atlas ready for Search."""
    from encoder.corpus import iter_index, open_atlas
    from encoder.errors import EncoderError

    try:
        atlas = open_atlas(options.atlas)
        layers = atlas.vector_layers if options.layer is None else (options.layer,)
        if not layers:
            raise CommandError(f"{options.atlas} has no vectors of tokens: build it with --vectors.")
        for layer in layers:
            last = time.monotonic()
            for share in iter_index(atlas, layer, options.exact):
                if time.monotonic() - last >= BETWEEN_LINES:
                    last = time.monotonic()
                    print(f"layer {layer}: {share:.0%}", file=sys.stderr, flush=True)
            print(f"{options.atlas}: layer {layer} is ready for Search")
    except EncoderError as error:
        raise CommandError(str(error)) from None
    return 0


def add_corpus(subparsers: Subparsers) -> None:
    """Add the command and its options to the command line."""
    corpus = subparsers.add_parser(
        "corpus",
        help="measure all heads over a corpus",
        description="Measure all heads over a corpus, and save the result as an atlas (docs/atlas.md).",
    )
    actions = corpus.add_subparsers(metavar="ACTION", required=True)
    build = actions.add_parser(
        "build",
        help="build an atlas from the texts of a file",
        description="Run every text of a file through the model and write an atlas: a folder with the measures of all "
        "heads. A build that was ended goes on from its last checkpoint when you repeat the command.",
    )
    build.add_argument("texts", metavar="TEXTS", help="a .txt, .csv, .tsv, .jsonl or .parquet file; or wordnet")
    build.add_argument("--out", type=Path, required=True, metavar="ATLAS", help="the folder to write")
    build.add_argument(
        "--model",
        default="minilm",
        metavar="MODEL",
        help="minilm, twin-pre, twin-post, a folder or a Hub id (default: %(default)s)",
    )
    add_choice(build, "--device", ("auto", "cpu", "cuda", "mps"), "device of the model (default: %(default)s)")
    build.add_argument(
        "--text", metavar="COLUMN", help="column of the texts (default: text, sentence, ..., or the first)"
    )
    build.add_argument(
        "--label", action="append", default=[], metavar="COLUMN", help="a column of labels; again for further ones"
    )
    build.add_argument("--most", type=_positive, metavar="N", help="the first N texts only (default: all)")
    build.add_argument(
        "--max-tokens", type=_number, metavar="N", help="cut a text here (default: what the model accepts)"
    )
    build.add_argument(
        "--vectors", type=_layers, default=(), metavar="N,N", help="keep token vectors of these layers (0: embeddings)"
    )
    build.add_argument(
        "--vector-texts", type=_number, default=5_000, metavar="N", help="of so many texts (default: %(default)s)"
    )
    build.add_argument("--workers", type=_positive, metavar="N", help="number of Ray workers (extra: corpus)")
    build.add_argument("--ray", metavar="ADDRESS", help="a running Ray cluster: auto, or HOST:PORT")
    build.add_argument(
        "--threads", type=_positive, metavar="N", help="threads of each process (with workers: cores / workers)"
    )
    build.add_argument("--seed", type=_number, default=0, metavar="N", help="of the bootstrap (default: %(default)s)")
    build.add_argument(
        "--block", type=_number, default=500, metavar="N", help="texts of a block (default: %(default)s)"
    )
    build.add_argument(
        "--checkpoint",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="between two checkpoints (default: %(default)s)",
    )
    build.add_argument(
        "--replace", action="store_true", help="replace the atlas that is there, once the new one is whole"
    )
    build.set_defaults(run=build_atlas)
    show = actions.add_parser(
        "show",
        help="verify an atlas and print the types of its heads",
        description="Verify every file of an atlas, and print what it holds and the types of its heads.",
    )
    show.add_argument("atlas", type=Path, metavar="ATLAS")
    show.set_defaults(run=show_atlas)
    index = actions.add_parser(
        "index",
        help="make a large atlas ready for Search",
        description="Write the token vectors of an atlas in a form that Search opens at once, in its folder "
        "index. Many tokens get a graph, which may miss a neighbour.",
    )
    index.add_argument("atlas", type=Path, metavar="ATLAS")
    index.add_argument("--layer", type=_number, metavar="N", help="one layer only (default: all with vectors)")
    index.add_argument(
        "--exact", type=_number, default=3_000_000, metavar="N",
        help="up to so many tokens without a graph (default: %(default)s); a graph needs the extra index",
    )  # fmt: skip
    index.set_defaults(run=index_atlas)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return int(text)


def _positive(text: str) -> int:
    if not (number := _number(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is too small: specify 1 or more")
    return number


def _layers(text: str) -> tuple[int, ...]:
    return tuple(sorted({_number(part.strip()) for part in text.split(",")}))
