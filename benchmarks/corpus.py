"""A corpus: every measure of every head, and their sums, against `encode` of sentence-transformers on the same texts;
and what the pages ask an atlas.

Both take the texts by length. Ours runs the blocks of a build; reading and writing files is left out.
"""

import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

import encoder
from benchmarks import report, timing
from benchmarks.report import Figure
from benchmarks.search import reference
from encoder import TextEncoder, corpus, probe
from encoder.corpus.block import BlockResult, survey_block
from encoder.corpus.plan import Block, Plan, Settings
from encoder.corpus.token_search import BEHAVIOUR, Tokens
from encoder.trace import gradual

#: Half of their throughput is twice their time.
SHARE_OF_TIME = 2.0
#: Seconds of one query of a page.
SECONDS = 0.3
#: The time of two workers over one worker's: 1.7 times the sentences a second.
TWO_WORKERS = 1 / 1.7
#: Sizes of MiniLM, whose tokens are drawn at random: the time of a product does not depend on them.
WIDTH, LAYERS, HEADS = 384, 6, 12


def run(
    *, texts: int = 2_000, rounds: int = 5, clock: str = "wall", large: int = 50_000, tokens: int = 3_000_000
) -> Iterator[Figure]:
    """The figures of this part. texts: that both sides take; rounds: at least so many of each side; large: texts that
    workers measure, and of the atlas that is asked; tokens: that a query is compared with."""
    yield throughput(texts, rounds, clock)
    if find_spec("ray") is not None:
        yield two_workers(large)
    yield from queries(large, rounds, clock)
    yield from nearest(tokens, rounds, clock)


def throughput(texts: int, rounds: int, clock: str) -> Figure:
    """Time of measuring the bundled example sentences, ours against theirs."""
    model = encoder.load("minilm", device="cpu")
    some = probe.examples()[:texts]
    other = reference()
    calls = {
        "ours": lambda: survey(model, some),
        "theirs": lambda: other.encode(sorted(some, key=len), batch_size=32),
    }
    measured = timing.in_turn(calls, seconds=0, least=rounds, clock=clock)
    found = timing.ratio(measured["ours"], measured["theirs"])
    raw = {name: report.seconds(statistics.median(series)) for name, series in measured.items()}
    return Figure(
        "corpus",
        f"all heads of {len(some):,} sentences",
        "sentence-transformers `encode`",
        found.value,
        None,
        "",
        SHARE_OF_TIME,
        found.low,
        found.high,
        raw,
        f"{torch.get_num_threads()} threads, {clock} time",
    )


def survey(model: TextEncoder, texts: tuple[str, ...]) -> BlockResult:
    """The totals of all blocks, with the default settings of a build."""
    plan = Plan(Settings(), len(texts))
    size, merged = plan.settings.block_texts, None
    for number in range(plan.n_blocks):
        block = Block(number, number * size, texts[number * size : (number + 1) * size], {})
        result = gradual.result(survey_block(model, block, plan))
        if merged is None:
            merged = result
        else:
            merged.totals.merge(result.totals)
    assert merged is not None
    return merged


def two_workers(texts: int) -> Figure:
    """Time of two workers with one thread each over one worker's, from the first finished block to the last.

    The whole builds, with the start of Ray and of the workers and the writing of the tables, are in `raw`.
    """
    draw, some = random.Random(0), probe.examples()
    rate, raw = {}, {}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "texts.txt"
        file.write_text("\n".join(draw.choices(some, k=texts)), encoding="utf-8")
        for workers in (2, 1):
            rate[workers], whole = _built_by(workers, file, Path(place) / f"by {workers}")
            raw[f"{workers} workers"] = f"{rate[workers]:.0f} sentences/s, whole build {report.seconds(whole)}"
    what = f"two workers of Ray, {texts:,} sentences"
    return Figure(
        "corpus", what, "one worker", rate[1] / rate[2], target=TWO_WORKERS, raw=raw, note="wall time, one thread each"
    )


def _built_by(workers: int, file: Path, folder: Path) -> tuple[float, float]:
    """Texts a second between the first and the last finished block, and seconds of the whole build."""
    model, began = encoder.load("minilm", device="cpu"), time.perf_counter()
    run = corpus.Cluster("minilm", workers)
    seen = [
        (time.perf_counter(), progress.done)
        for progress in corpus.iter_build(model, corpus.Source(str(file)), folder, run=run)
    ]
    whole = time.perf_counter() - began
    first = next(one for one in seen if one[1])
    last = next(one for one in seen if one[1] == seen[-1][1])
    return (last[1] - first[1]) / (last[0] - first[0]), whole


def queries(texts: int, rounds: int, clock: str) -> Iterator[Figure]:
    """Seconds of what the page Head types asks an atlas of so many texts, by twin-post."""
    draw, some = random.Random(0), probe.examples()
    with tempfile.TemporaryDirectory() as place:
        file, folder = Path(place) / "texts.txt", Path(place) / "atlas"
        file.write_text("\n".join(" ".join(draw.choices(some, k=2)) for _ in range(texts)), encoding="utf-8")
        for _ in corpus.iter_build(encoder.load("twin-post", device="cpu"), corpus.Source(str(file)), folder):
            pass
        calls: dict[str, Callable[[], Any]] = {
            "open, all means": lambda: corpus.open_atlas(folder).array("previous"),
            "head types": lambda: corpus.open_atlas(folder).types(),
            "histogram": lambda: corpus.open_atlas(folder).histogram("previous", 1, 2),
            "similar heads": lambda: corpus.open_atlas(folder).most_similar(1, 2),
            "examples": lambda: corpus.open_atlas(folder).examples(1, 2, "previous"),
        }
        for name, series in timing.in_turn(calls, seconds=0, least=rounds, clock=clock).items():
            value = statistics.median(series)
            yield Figure("corpus", f"{name}, {texts:,} texts", "", value, None, "s", SECONDS, note=f"{clock} time")


def nearest(tokens: int, rounds: int, clock: str) -> Iterator[Figure]:
    """Seconds of the ten nearest of so many tokens, and of those that a head treats in some way."""
    draw = np.random.default_rng(0)
    vectors = np.empty((tokens, WIDTH), dtype=np.float16)
    for first in range(0, tokens, 100_000):
        part = draw.standard_normal((min(100_000, tokens - first), WIDTH), dtype=np.float32)
        vectors[first : first + len(part)] = part / np.linalg.norm(part, axis=1, keepdims=True)
    behaviour = np.zeros((LAYERS, HEADS, len(BEHAVIOUR), tokens), dtype=np.uint8)
    behaviour[2, 5, 0] = draw.integers(0, 256, tokens)
    zeros = np.zeros(tokens, dtype=np.int32)
    loaded = Tokens(vectors, zeros, zeros, zeros, zeros, zeros, behaviour, ("token",), "any")
    where = corpus.Behaves(2, 5, "previous", 0.5)
    calls: dict[str, Callable[[], Any]] = {
        "nearest tokens": lambda: loaded.nearest(vectors[17], 10),
        "nearest tokens, filtered by a head": lambda: loaded.nearest(vectors[17], 10, where),
    }
    note = f"exact, {torch.get_num_threads()} threads, {clock} time"
    for name, series in timing.in_turn(calls, seconds=0, least=rounds, clock=clock).items():
        yield Figure("corpus", f"{name} among {tokens:,}", "", statistics.median(series), None, "s", SECONDS, note=note)
