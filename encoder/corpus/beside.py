"""One value beside an atlas, and one atlas beside another.

    standing(atlas, "previous", 4, 7, 0.41)    # the share of texts with a smaller value
    difference(atlas, other, "previous", 4, 7)

Shapes: L layers, H heads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from encoder.corpus.atlas import Atlas
from encoder.errors import AtlasError

#: Half the width of a 95 % interval of a normal distribution, in standard errors.
NORMAL_95 = 1.959964


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
    """The mean of one atlas less that of another, with a 95 % interval."""

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
    error = math.hypot(
        float(atlas.array(measure, "se")[layer, head]), float(other.array(measure, "se")[layer, head])
    )  # fmt: skip
    return Difference(value, value - NORMAL_95 * error, value + NORMAL_95 * error)
