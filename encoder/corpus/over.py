"""Any numbers of a text over many texts: means with intervals, by groups, resumed after an end, on workers.

    effects = corpus.over(model, "texts.csv", causal.ablate_each_head)
    effects.mean, effects.low, effects.high                       # [L, H] each, of 95% intervals
    corpus.over(model, texts, lambda model, text: measure.heads(model.trace(text))["entropy"], "entropies")
    corpus.over(model, corpus.Source("pairs.csv", "clean", pair="corrupted"), causal.patch)       # pairs of one length

The texts are staged, run in blocks and resumed as those of an atlas; a block's numbers are one file.

Shapes: N texts, S the shape of what the function gives, R replicates.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from encoder.corpus.block import BlockResult
from encoder.corpus.building import Progress, in_process, measured
from encoder.corpus.on_ray import Cluster
from encoder.corpus.plan import Block, Plan, Settings, model_about
from encoder.corpus.rows import Source
from encoder.corpus.staging import LABEL, TEXTS, Staging
from encoder.corpus.totals import Top, Totals, bootstrap_weights, interval
from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, quoted
from encoder.inputs.read import Given
from encoder.measure.head_definitions import as_float64

#: (model, text) or (model, text, second text) -> numbers, of the same shape for every text. It may raise EncoderError
#: for a text, which is left out.
Function = Callable[..., Any]
FOLDER = "values"
#: Small blocks: the numbers of a text may need many runs.
DEFAULTS = Settings(block_texts=50)


@dataclass(frozen=True, eq=False, repr=False)
class OverTexts:
    """values float64 [N, *S]; texts [N]: their places among the texts that were read; labels: column -> a value for
    each of them; failed: place -> why it was left out; replicates, seed: of the bootstrap; n_cut: texts of the whole
    call that are longer than the model accepts."""

    values: np.ndarray
    texts: np.ndarray
    labels: dict[str, np.ndarray]
    failed: dict[int, str]
    replicates: int = 200
    seed: int = 0
    n_cut: int = 0

    def __repr__(self) -> str:
        shape = list(self.values.shape[1:])
        return f"<OverTexts of {len(self.values):,} texts, shape {shape}, {len(self.failed)} failed>"

    @cached_property
    def mean(self) -> np.ndarray:
        """[*S]: over texts; a text without a number (NaN) does not count; NaN where no text has one."""
        with np.errstate(invalid="ignore"):
            found: np.ndarray = np.nansum(self.values, axis=0) / (~np.isnan(self.values)).sum(axis=0)
        return found

    @cached_property
    def _interval(self) -> tuple[np.ndarray, np.ndarray]:
        weights = bootstrap_weights(self.texts.tolist(), self.replicates, self.seed)  # [R, N]
        flat = self.values.reshape(len(self.values), -1)
        counts = weights @ np.isfinite(flat)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = weights @ np.nan_to_num(flat) / np.where(counts > 0, counts, np.nan)
        low, high = interval(means)
        return low.reshape(self.values.shape[1:]), high.reshape(self.values.shape[1:])

    @property
    def low(self) -> np.ndarray:
        """[*S]: the lower end of the 95% interval of the mean, by the bootstrap over texts."""
        return self._interval[0]

    @property
    def high(self) -> np.ndarray:
        """[*S]: the upper end."""
        return self._interval[1]

    def by(self, label: str) -> dict[str, OverTexts]:
        """The same of the texts with each value of a label column. Raises EncoderError for an unknown column."""
        if label not in self.labels:
            raise EncoderError(f"No labels {quoted(label)}: name the column in Source(labels=...).")
        of = self.labels[label]
        parts = {str(value): of == value for value in sorted({one for one in of if one is not None})}
        return {
            value: replace(
                self,
                values=self.values[some],
                texts=self.texts[some],
                labels={name: column[some] for name, column in self.labels.items()},
            )
            for value, some in parts.items()
        }

    def to_pandas(self, **axes: Sequence[object]) -> pd.DataFrame:
        """place_0, place_1, ... in S, mean, low, high. axes: other names of these columns, and their values."""
        places = np.indices(self.mean.shape).reshape(self.mean.ndim, -1)
        axes = axes or {f"place_{axis}": range(size) for axis, size in enumerate(self.mean.shape)}
        columns = {name: np.array(list(axes[name]))[place] for name, place in zip(axes, places, strict=True)}
        return pd.DataFrame(columns | {name: getattr(self, name).ravel() for name in ("mean", "low", "high")})


def over(
    model: TextEncoder,
    source: Source | Given,
    function: Function,
    out: str | Path | None = None,
    *,
    name: str = "",
    settings: Settings = DEFAULTS,
    cluster: Cluster | None = None,
    seconds: float = 30.0,
    progress: Callable[[Progress], object] | None = None,
) -> OverTexts:
    """The function's numbers of each text, with their means and intervals.

    source: texts, a file, or a Source. function: (model, text) -> numbers of one shape, such as
    `causal.ablate_each_head`; of a Source with a pair, (model, text, second text), such as `causal.patch`. out: a
    folder that keeps the blocks: the same call goes on after an end, and opens the result later; None: nothing is
    kept. name: of the function, which the folder is checked for (by default its own). cluster: Ray's workers.
    Raises EncoderError where no text has numbers, and as `iter_build`.
    """
    model, source = of_text(model, "choose a text model."), source if isinstance(source, Source) else Source(source)
    source.check()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "blocks" if out is None else Path(out)
        called = name or getattr(function, "__qualname__", type(function).__name__)
        about = {"model": model_about(model), "source": source.about(), "function": called}
        staging = Staging(folder, about, source, settings)
        survey = partial(_survey, function)
        run = replace(cluster, survey=survey) if cluster is not None else partial(in_process, survey=survey)
        try:
            for moment in measured(model, staging, run, seconds):
                if progress is not None:
                    progress(moment)
            return _collected(staging, source)
        finally:
            staging.close()


def _survey(function: Function, model: TextEncoder, block: Block, plan: Plan) -> Generator[int, None, BlockResult]:
    """One block: its numbers as a file, and which of its texts failed."""
    values: dict[int, np.ndarray] = {}
    failed: dict[int, str] = {}
    n_cut = 0
    for place, text in enumerate(block.texts):
        words = (text, *block.pairs[place : place + 1])
        try:
            values[block.first + place] = as_float64(function(model, *words))
            n_cut += any(_is_cut(model, one) for one in words)
        except EncoderError as error:
            failed[block.first + place] = str(error)
        yield place + 1
    if len({one.shape for one in values.values()}) > 1:
        raise EncoderError("The function gives another shape for each text: specify one shape, such as [L, H].")
    done = np.zeros(plan.n_blocks, dtype=np.int64)
    done[block.number] = 1
    sums = {"blocks": done, "texts": np.array(len(values)), "failed": np.array(len(failed)), "cut": np.array(n_cut)}
    arrays = {"values": np.stack(list(values.values())), "texts": np.array(list(values))} if values else {}
    files = {f"{FOLDER}/{block.number:06}.safetensors": save(arrays)}
    return BlockResult(block.number, Totals(sums, Top.empty(0, 0, 0, 0), failed), files)


def _is_cut(model: TextEncoder, text: str) -> bool:
    """Whether a pass has the beginning of a text only; one without tokens, which the function may accept, is whole."""
    try:
        return model.tokenize(text).cut
    except EncoderError:
        return False


def _collected(staging: Staging, source: Source) -> OverTexts:
    blocks = [load(path.read_bytes()) for path in sorted((staging.folder / FOLDER).glob("*.safetensors"))]
    blocks = [block for block in blocks if block]
    totals = staging.checkpoint()
    failed = {} if totals is None else totals.failed
    if not blocks:
        raise EncoderError(f"No text has numbers. {next(iter(failed.values()), '')}")
    texts = np.concatenate([block["texts"] for block in blocks])
    table = pq.read_table(staging.folder / TEXTS, columns=[LABEL + label for label in source.labels])
    labels = {label: np.array(table.column(LABEL + label).to_pylist(), dtype=object)[texts] for label in source.labels}
    settings = staging.plan.settings
    values = np.concatenate([block["values"] for block in blocks])
    n_cut = 0 if totals is None else int(totals.sums.get("cut", 0))  # of a folder of before, unknown
    return OverTexts(values, texts, labels, failed, settings.replicates, settings.seed, n_cut)
