"""Pictures of the forward pass, from a word to its vector, and of its cost."""

from encoder.figures.steps.bars import named_bars, term_bars, token_bars
from encoder.figures.steps.cost import cost_curves
from encoder.figures.steps.maps import (
    cosines,
    padding_mask,
    score_map,
    stacked_rows,
    sum_of_rows,
    usual_limit,
    weight_matrix,
)
from encoder.figures.steps.plane import label_sides, plane

__all__ = [
    "cosines", "cost_curves", "label_sides", "named_bars", "padding_mask", "plane", "score_map", "stacked_rows",
    "sum_of_rows", "term_bars", "token_bars", "usual_limit", "weight_matrix",
]  # fmt: skip
