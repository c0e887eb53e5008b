"""Build an atlas: every text once through the model, in blocks, with checkpoints.

from encoder import corpus
atlas = corpus.build(model, "texts.csv", "atlas", progress=print)
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from encoder import disk
from encoder.corpus.atlas import Atlas, open_atlas
from encoder.corpus.batch import norm_names
from encoder.corpus.block import BlockResult, Survey, survey_block
from encoder.corpus.groups import key_tokens
from encoder.corpus.plan import Plan, Settings, model_about
from encoder.corpus.rows import Source
from encoder.corpus.staging import KIND, TEXTS, Staging, read_blocks, written_earlier
from encoder.corpus.tables import write_tables
from encoder.corpus.totals import MOST_TEXTS
from encoder.encoders.text import TextEncoder
from encoder.errors import AtlasError, EncoderError
from encoder.inputs.read import Given
from encoder.measure.head_definitions import own

#: Runs the blocks of these numbers, of the staged texts in a file, in any order. Yields their results; whole numbers
#: between them: texts done of a block under way.
Runner = Callable[[TextEncoder, Plan, Path, list[int]], Iterator[int | BlockResult]]

DEFAULTS = Settings()
#: Texts of a block, at most: the bootstrap's products are exact up to there.
MOST_BLOCK_TEXTS = 4096


@dataclass(frozen=True)
class Progress:
    """done of n_texts texts, before of which an earlier run has done; n_broken: rows that were left out; finished."""

    done: int
    n_texts: int
    before: int
    n_broken: int
    finished: bool = False


def in_process(
    model: TextEncoder, plan: Plan, texts: Path, numbers: list[int], survey: Survey = survey_block
) -> Iterator[int | BlockResult]:
    """The runner of this process only. survey: what is done with a block."""
    for block in read_blocks(texts, plan, numbers):
        yield (yield from survey(model, block, plan))


def build(
    model: TextEncoder,
    source: Source | Given,
    out: str | Path,
    settings: Settings = DEFAULTS,
    *,
    run: Runner = in_process,
    seconds: float = 30.0,
    replace: bool = False,
    progress: Callable[[Progress], object] | None = None,
) -> Atlas:
    """`iter_build` to its end; returns the atlas. progress: called with each Progress."""
    for moment in iter_build(model, source, out, settings, run=run, seconds=seconds, replace=replace):
        if progress is not None:
            progress(moment)
    return open_atlas(out)


def iter_build(
    model: TextEncoder,
    source: Source | Given,
    out: str | Path,
    settings: Settings = DEFAULTS,
    *,
    run: Runner = in_process,
    seconds: float = 30.0,
    replace: bool = False,
) -> Iterator[Progress]:
    """Build the atlas `out` of a Source (or what one reads), or go on with a build that was ended; yields its progress.

    The same model, texts and settings give the same files, whatever the runner and however often a build was
    ended;     torch rounds sums by its number of threads, so that must be the same, too. seconds: between two
    checkpoints;     replace: an atlas that is there; what a user added to it stays. Raises AtlasError where an
    atlas or another build is there, and EncoderError     for texts and settings that do not fit.
    """
    _check(model, settings)
    names = key_tokens(model, settings.key_tokens)
    settings = dataclasses.replace(settings, own=tuple(one.name for one in own()))
    source, out = source if isinstance(source, Source) else Source(source), Path(out)
    source.check()
    if out.exists() and not replace:
        raise AtlasError(f"{out} exists: choose another name, or replace it with --replace.")
    out = out.resolve() if out.is_symlink() else out
    disk.check_folder(out, KIND, written_earlier, inputs=[source.path] if isinstance(source.path, str | Path) else [])
    about = {"model": model_about(model), "source": source.about()}
    staging = Staging(out.with_name(f"{out.name}.partial"), about, source, settings)
    try:
        yield from measured(model, staging, run, seconds)
        totals = staging.checkpoint()
        assert totals is not None
        if not int(totals.sums["texts"]):
            text, why = next(iter(totals.failed.items()))
            raise EncoderError(f"No text can be measured. Text {text + 1:,}: {why}")
        write_tables(staging, totals, about, model, norm_names(model), names)
        staging.publish(out)
        n_texts = staging.plan.n_texts
        yield Progress(n_texts, n_texts, 0, staging.n_broken, finished=True)
    finally:
        staging.close()


def measured(model: TextEncoder, staging: Staging, run: Runner, seconds: float) -> Iterator[Progress]:
    """Run the blocks that are not done yet. At the end the checkpoint has them all."""
    plan, totals = staging.plan, staging.checkpoint()
    waiting = [number for number in range(plan.n_blocks) if totals is None or not totals.sums["blocks"][number]]
    before = done = 0 if totals is None else int(totals.sums["texts"] + totals.sums["failed"])
    yield Progress(done, plan.n_texts, before, staging.n_broken)
    saved = time.monotonic()
    for result in [] if not waiting else run(model, plan, staging.folder / TEXTS, waiting):
        if isinstance(result, int):
            yield Progress(done + result, plan.n_texts, before, staging.n_broken)
            continue
        if totals is not None and totals.sums["blocks"][result.number]:
            continue  # a worker that was lost may have finished its block after all
        for name, content in result.files.items():
            staging.write(name, content)
        if totals is None:
            totals = result.totals
        else:
            totals.merge(result.totals)
        done = int(totals.sums["texts"] + totals.sums["failed"])
        if time.monotonic() - saved >= seconds:
            staging.save(totals)
            saved = time.monotonic()
        yield Progress(done, plan.n_texts, before, staging.n_broken)
    if totals is None or not totals.sums["blocks"].all():
        raise EncoderError("Some blocks gave no result: run the same command again, and it goes on with them.")
    staging.save(totals)


def _check(model: TextEncoder, settings: Settings) -> None:
    last = model.config.n_layers
    for number in settings.vector_layers:
        if not 0 <= number <= last:
            raise EncoderError(f"No vectors of layer {number} in this model: choose 0 (the embeddings) to {last}.")
    bounds = {
        "block_texts": (1, MOST_BLOCK_TEXTS),
        "examples": (1, 100),
        "replicates": (20, 2_000),
        "strong": (0, 1),
        "vector_texts": (1, MOST_TEXTS),
        "similarity_texts": (0, MOST_TEXTS),
        "seed": (0, 2**63 - 1),
    }
    for name, (low, high) in bounds.items():
        if not low <= getattr(settings, name) <= high:
            raise EncoderError(f"{name}={getattr(settings, name)} is out of range: choose {low:,} to {high:,}.")
    model.tokenize("a", max_tokens=settings.max_tokens)  # raises TextError if there is no room for a text
