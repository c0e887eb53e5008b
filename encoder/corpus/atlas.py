"""Open an atlas and ask it. Tables are read when they are asked for, and only the columns and rows that are needed.

pyarrow answers the queries: every installation has it, the tables of heads have a few thousand rows, and large ones
(texts, tokens) are read by row group. DuckDB would be one more dependency for the same answers.

Shapes: M measures, L layers, H heads, N = L x H, D d_model, O offsets.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from encoder.checkpoints import BUNDLED
from encoder.corpus.atlas_files import MANIFEST, Files, read_manifest
from encoder.corpus.staging import LABEL, TEXTS
from encoder.corpus.totals import caution
from encoder.errors import AtlasError, quoted
from encoder.inputs.read import Row
from encoder.measure import head_types
from encoder.measure.head_measures import HeadMeasures
from encoder.measure.head_types import Finding, Thresholds

#: The bundled atlases: example sentences of WordNet in each bundled text model. `make atlas` builds them.
FOLDER = Path(__file__).parent.parent / "data" / "atlases"
#: Half the width of a 95% interval of a normal distribution, in standard errors.
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Example:
    """A text in which a measure of a head is strong. text: its index; n_tokens: its length."""

    value: float
    text: int
    n_tokens: int
    sentence: str


def open_atlas(folder: str | Path) -> Atlas:
    """Open the atlas in a folder; only its manifest is read.

    Raises AtlasError for a folder without an atlas, a damaged one, another format, and one of a newer version.
    """
    folder = Path(folder)
    atlas = Atlas(folder, read_manifest(folder))
    atlas.check_files()
    return atlas


class Atlas:
    """Measures of all heads over a corpus. docs/atlas.md describes the files."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest
        try:
            model, count = manifest["model"], manifest["count"]
            self.model_name, self.model_sha256 = str(model["name"]), str(model["sha256"])
            self.n_layers, self.n_heads = int(model["n_layers"]), int(model["n_heads"])
            self.n_texts, self.n_tokens = int(count["texts"]), int(count["tokens"])
            self.n_left_out, self.n_cut = int(count["broken"]) + int(count["failed"]), int(count["cut"])
            self.n_blank = int(count.get("blank", 0))  # an older version did not count them
            self.measures = tuple(map(str, manifest["measures"]))
            self.labels = {str(name): tuple(map(str, values)) for name, values in manifest["labels"].items()}
            settings = manifest["settings"]
            self.vector_layers = tuple(map(int, settings["vector_layers"]))
            self.block_texts, self.strong = int(settings["block_texts"]), float(settings["strong"])
            self.d_model = int(model["d_model"])
            self._files = Files(folder, manifest["files"])
            sizes = (self.n_layers, self.n_heads, self.n_texts, self.n_tokens, self.block_texts, self.d_model)
            ruled = {measure for one in head_types.HEAD_TYPES for measure, *_ in one.rules}
            if min(sizes) < 1 or not ruled <= set(self.measures):
                raise ValueError("no sizes of an atlas, or too few measures")
        except AtlasError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise AtlasError(f"The {MANIFEST} of {folder.name} is damaged: build the atlas again.") from None

    @property
    def left_out(self) -> str:
        """What is not in the atlas: "3 left out, 2 blank rows"."""
        blank = f", {self.n_blank:,} blank row{'s' * (self.n_blank != 1)}" if self.n_blank else ""
        return f"{self.n_left_out:,} left out{blank}"

    @cached_property
    def manifest_sha256(self) -> str:
        """A hash of the manifest, which has the hash of every file: equal for equal atlases."""
        return hashlib.sha256(json.dumps(self.manifest, sort_keys=True).encode()).hexdigest()

    def __repr__(self) -> str:
        return (
            f"<Atlas of {self.model_name}: {self.n_texts:,} texts, {self.n_tokens:,} tokens, {self.n_layers} layers x "
            f"{self.n_heads} heads>"
        )

    # --- files --------------------------------------------------------------------------------------------------------

    def check_files(self) -> None:
        """Raise AtlasError for a file that is missing or has another size. `verify` reads them all."""
        self._files.check()

    def verify(self) -> None:
        """Raise AtlasError where the content of a file is not what was written."""
        self._files.verify()

    @property
    def caution(self) -> str:
        """What to know of the intervals; "" where there are enough texts."""
        return caution(self.n_texts)

    def table(
        self, name: str, columns: Sequence[str] | None = None, filters: Sequence[tuple[str, str, Any]] | None = None
    ) -> pd.DataFrame:
        """A table: "heads", "profile", ...; filters: (column, operator, value), all of which hold.

        Raises AtlasError for a table that is not there, or damaged.
        """
        return self._files.arrow(f"{name}.parquet", columns, filters).to_pandas()

    # --- heads --------------------------------------------------------------------------------------------------------

    @cached_property
    def _heads(self) -> Mapping[str, np.ndarray]:
        table = self._files.arrow("heads.parquet")
        shape = (len(self.measures), self.n_layers, self.n_heads)
        try:
            return {
                name: table.column(name).to_numpy().reshape(shape) for name in ("n", "mean", "std", "se", "low", "high")
            }
        except (KeyError, ValueError):
            raise AtlasError(f"heads.parquet of {self.folder.name} is damaged: build the atlas again.") from None

    def array(self, measure: str, statistic: str = "mean") -> np.ndarray:
        """float64 [L, H]: a measure over the texts. statistic: "mean", "std", "se" (std / sqrt(n)), "low" and "high"
        (95% bootstrap interval of the mean), "n" (texts)."""
        if measure not in self.measures:
            raise AtlasError(f"This atlas has no measure {quoted(measure)}: choose one of {', '.join(self.measures)}.")
        if statistic not in self._heads:
            raise AtlasError(f"No statistic {quoted(statistic)}: choose one of {', '.join(self._heads)}.")
        return self._heads[statistic][self.measures.index(measure)]

    @cached_property
    def head_measures(self) -> HeadMeasures:
        """The means over texts, in the form that a trace's measures have; n_tokens: the mean length, rounded."""
        values = {name: self.array(name) for name in self.measures}
        mean_length = round(self.n_tokens / self.n_texts)
        return HeadMeasures(MappingProxyType(values), mean_length, mean_length, "all", self.strong)

    def head_types(self, thresholds: Thresholds | None = None) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
        """[L][H]: the types of each head by its means over the corpus."""
        return head_types.find(self.head_measures, thresholds or Thresholds())

    @cached_property
    def types_of_heads(self) -> tuple[tuple[tuple[Finding, ...], ...], ...]:
        """[L][H]: `head_types` by the default thresholds."""
        return self.head_types()

    def types(self) -> pd.DataFrame:
        """type, layer, head; by_mean: the corpus mean passes the default thresholds; support: in this share of the
        bootstrap's replicates; share: of the texts in which the head has the type by that text only; low, high: 95%
        interval of the share."""
        return self.table("types")

    def histogram(self, measure: str, layer: int, head: int) -> pd.DataFrame:
        """lower, upper, count: texts by the measure of one head; empty bins are left out."""
        return self.table("histograms", ["lower", "upper", "count"], [("measure", "=", measure), *_at(layer, head)])

    def profile(self, layer: int, head: int) -> pd.DataFrame:
        """offset (j - i), mean weight of a pair at it, share of all attention, pairs. The first and the last offset:
        all that are farther."""
        return self.table("profile", ["offset", "mean", "share", "pairs"], _at(layer, head))

    def key_tokens(self, layer: int, head: int) -> pd.DataFrame:
        """token, n (texts with it), mean (weight on all its occurrences, mean over queries, then texts), std, se."""
        return self.table("key_tokens", ["token", "n", "mean", "std", "se"], _at(layer, head))

    def by_label(self, label: str, measure: str) -> pd.DataFrame:
        """value, layer, head, n, mean, std, se of a measure, for each value of a label column."""
        if label not in self.labels:
            known = ", ".join(self.labels) or "none"
            raise AtlasError(f"This atlas has no labels {quoted(label)}: it has {known}.")
        columns = ["value", "layer", "head", "n", "mean", "std", "se"]
        return self.table("labels", columns, [("label", "=", label), ("measure", "=", measure)])

    @cached_property
    def divergence(self) -> np.ndarray:
        """float64 [N, N]: Jensen-Shannon divergence of all pairs of heads in nats, mean over the compared texts."""
        n = self.n_layers * self.n_heads
        found: np.ndarray = self._files.arrow("similarity.parquet", ["divergence"]).column(0).to_numpy()
        if len(found) != n * n:
            raise AtlasError(f"similarity.parquet of {self.folder.name} is damaged: build the atlas again.")
        return found.reshape(n, n)

    def most_similar(self, layer: int, head: int, k: int = 5) -> list[tuple[int, int, float]]:
        """The k heads of the smallest divergence from this one: (layer, head, divergence), the smallest first."""
        own = layer * self.n_heads + head
        order = [int(other) for other in np.argsort(self.divergence[own], kind="stable") if other != own]
        return [(*divmod(other, self.n_heads), float(self.divergence[own, other])) for other in order[:k]]

    def examples(self, layer: int, head: int, measure: str) -> list[Example]:
        """The texts in which the measure of a head is largest, the strongest first."""
        columns = ["value", "text", "n_tokens"]  # their order in the table is that of their ranks
        rows = self._files.arrow(
            "examples.parquet", columns, [("measure", "=", measure), *_at(layer, head)]
        ).to_pylist()
        texts = self.texts([row["text"] for row in rows])
        return [Example(row["value"], row["text"], row["n_tokens"], texts[row["text"]]) for row in rows]

    def norms(self) -> pd.DataFrame:
        """quantity, place, n, mean, std, se: the residual stream and the norms, as in `measure.stream`."""
        return self.table("norms")

    def problems(self) -> list[str]:
        """A line for each row or text that was left out: "row 5: not UTF-8"."""
        rows = self._files.arrow("problems.parquet").to_pylist()
        places = (f"row {one['row']:,}" if one["row"] is not None else f"text {one['text'] + 1:,}" for one in rows)
        return [f"{place}: {one['why']}" for place, one in zip(places, rows, strict=True)]

    # --- texts and tokens ---------------------------------------------------------------------------------------------

    def texts(self, indices: Sequence[int]) -> dict[int, str]:
        """Index -> text; only the row groups that have them are read."""
        return {index: row.text for index, row in self.rows(indices).items()}

    def rows(self, indices: Sequence[int]) -> dict[int, Row]:
        """Index -> its row: number in the file, text, and a value for each of `labels`. Raises AtlasError for an index
        that is not there."""

        def read(path: Path) -> dict[int, Row]:
            found = {}
            with pq.ParquetFile(path) as file:
                size = self.block_texts
                for group in sorted({index // size for index in indices if 0 <= index < file.metadata.num_rows}):
                    table = file.read_row_group(group)
                    wanted = sorted({index % size for index in indices if index // size == group})
                    for at, row in zip(wanted, table.take(wanted).to_pylist(), strict=True):
                        labels = tuple(row[LABEL + name] for name in self.labels)
                        found[group * size + at] = Row(int(row["row"]), str(row["text"]), labels)
            return found

        found: dict[int, Row] = self._files.read(TEXTS, read)
        if missing := set(indices) - set(found):
            raise AtlasError(f"The atlas {self.folder.name} has no text {min(missing):,}: is {TEXTS} damaged?")
        return found

    def parts(self) -> list[str]:
        """Names of the parts of the tokens' tables and vectors, in the order of the texts."""
        return sorted(
            name[len("tokens/") : -len(".parquet")] for name in self._files.names if name.startswith("tokens/")
        )

    def tokens(self, part: str, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """text, position, token, special, start, end of each token of a part; row n has the n-th vector."""
        return self._files.arrow(f"tokens/{part}.parquet", columns).to_pandas()

    def vectors(self, part: str, layer: int) -> np.ndarray:
        """float16 [tokens, D]: vectors of a part. layer: 0 the embeddings, N after N layers, n_layers the output."""
        if layer not in self.vector_layers:
            known = ", ".join(map(str, self.vector_layers)) or "none"
            raise AtlasError(f"This atlas has no vectors of layer {layer}: it has {known}.")
        return self._files.tensor(part, f"layer.{layer}")

    def behaviour(self, part: str) -> np.ndarray:
        """uint8 [tokens, L, H, 5]: weight of each token on the previous token, itself, the next one, the opening token
        and separators, in units of 1/255."""
        return self._files.tensor(part, "behaviour")


def _at(layer: int, head: int) -> list[tuple[str, str, Any]]:
    return [("layer", "=", layer), ("head", "=", head)]


# --- atlases side by side ---------------------------------------------------------------------------------------------


def standing(atlas: Atlas, measure: str, layer: int, head: int, value: float) -> float:
    """The share of the texts whose measure is below `value`, 0 to 1; NaN where no text has the measure.

    From the histogram of 50 bins; the bin of the value counts by the part of it that is below.
    """
    bars = atlas.histogram(measure, layer, head)
    total = int(bars["count"].sum())
    if not total or math.isnan(value):
        return math.nan
    lower, upper = bars["lower"].to_numpy(), bars["upper"].to_numpy()
    part = ((value - lower) / (upper - lower)).clip(0.0, 1.0)
    return float((part * bars["count"].to_numpy()).sum() / total)


@dataclass(frozen=True)
class Difference:
    """The mean of one atlas less that of another, with a 95% interval."""

    value: float
    low: float
    high: float


def difference(atlas: Atlas, other: Atlas, measure: str, layer: int, head: int) -> Difference:
    """The difference of a head's means, with the normal interval of two independent samples.

    If both atlases have the same texts, the samples are paired, and the true interval is narrower as a rule. Raises
    AtlasError where the second atlas has no such head.
    """
    if not (layer < other.n_layers and head < other.n_heads):
        raise AtlasError(f"{other.model_name} has no head L{layer} H{head}: choose another head.")
    value = float(atlas.array(measure)[layer, head] - other.array(measure)[layer, head])
    error = math.hypot(float(atlas.array(measure, "se")[layer, head]), float(other.array(measure, "se")[layer, head]))
    return Difference(value, value - NORMAL_95 * error, value + NORMAL_95 * error)


# --- bundled atlases --------------------------------------------------------------------------------------------------


def bundled_atlases() -> dict[str, Path]:
    """Name of a bundled model -> the folder of its atlas, which `open_atlas` opens."""
    return dict(_found())


@cache
def _found() -> dict[str, Path]:
    """Read once: they belong to the installed package, and pages ask in each run."""
    return {name: FOLDER / name for name in BUNDLED if (FOLDER / name / MANIFEST).is_file()}
