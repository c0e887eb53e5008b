"""Search: a query among 100,000 texts, and embedding against `encode` of sentence-transformers on the same texts.

Both embed in batches of 32 texts of similar length. Vectors of the large collection are drawn at random around centres:
the time of a product does not depend on them.
"""

import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

import encoder
from benchmarks import report, timing
from benchmarks.report import Figure
from encoder import TextEncoder, probe, search
from encoder.checkpoints.bundled import bundled_folder

TEXTS, WIDTH, CENTRES = 100_000, 384, 1_000
QUERIES = 30
SECONDS = 0.05
#: A throughput of at least 0.95 of theirs is a time of at most so much of theirs.
SHARE_OF_TIME = 1 / 0.95


def run(*, texts: int = 600, rounds: int = 5, clock: str = "wall") -> Iterator[Figure]:
    """The figures of this part. texts: that both sides embed; rounds: at least so many of each side."""
    model = encoder.load("minilm", device="cpu")
    yield one_query(clock)
    yield throughput(model, texts, rounds, clock)


def large() -> search.Collection:
    """A collection of TEXTS vectors."""
    draw = np.random.default_rng(0)
    centres = draw.standard_normal((CENTRES, WIDTH), dtype=np.float32)
    vectors = centres[draw.integers(CENTRES, size=TEXTS)]
    vectors += 0.8 * draw.standard_normal((TEXTS, WIDTH), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return search.Collection(("",) * TEXTS, vectors, "any")


def one_query(clock: str) -> Figure:
    """Seconds of a query whose vector is known: the exact product with all vectors, and the ten nearest."""
    collection = large()
    measured = timing.in_turn(
        {"ours": lambda: collection.nearest(collection.vectors[17], 10)}, seconds=0, least=QUERIES, clock=clock
    )
    note = f"exact, {TEXTS:,} vectors, {torch.get_num_threads()} threads"
    return Figure("search", "one query", "", statistics.median(measured["ours"]), None, "s", SECONDS, note=note)


def throughput(model: TextEncoder, texts: int, rounds: int, clock: str) -> Figure:
    """Time of embedding the bundled example sentences, ours against theirs."""
    some = list(probe.examples()[:texts])
    other = reference()
    calls = {"ours": lambda: search.embed(model, some), "theirs": lambda: other.encode(some, batch_size=search.BATCH)}
    measured = timing.in_turn(calls, seconds=0, least=rounds, clock=clock)
    found = timing.ratio(measured["ours"], measured["theirs"])
    raw = {name: report.seconds(statistics.median(series)) for name, series in measured.items()}
    return Figure(
        "search",
        f"embedding {len(some):,} sentences",
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


def reference() -> Any:
    """sentence-transformers' model of the same checkpoint."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(bundled_folder("minilm")), device="cpu")
