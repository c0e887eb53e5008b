"""A corpus: every measure of every head, and their sums, against `encode` of sentence-transformers on the same texts.

Both take the texts by length. Ours runs the blocks of a build; reading and writing files is left out.
"""

import statistics
from collections.abc import Iterator

import torch

import encoder
from benchmarks import report, timing
from benchmarks.report import Figure
from benchmarks.search import reference
from encoder import TextEncoder, gradual, probe
from encoder.corpus.block import BlockResult, survey_block
from encoder.corpus.plan import Block, Plan, Settings

#: Half of their throughput is twice their time.
SHARE_OF_TIME = 2.0


def run(*, texts: int = 2_000, rounds: int = 5, clock: str = "wall") -> Iterator[Figure]:
    """The figure of this part. texts: that both sides take; rounds: at least so many of each side."""
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
    yield Figure(
        "corpus", f"all heads of {len(some):,} sentences", "sentence-transformers `encode`", found.value, None, "",
        SHARE_OF_TIME, found.low, found.high, raw, f"{torch.get_num_threads()} threads, {clock} time",
    )  # fmt: skip


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
