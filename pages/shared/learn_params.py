"""The values of the pages under Learn, as they stand in the URL."""

from __future__ import annotations

from encoder.steps import STEPS
from pages.shared.url_state import Param, choice, flag, whole_number

SECOND, THIRD = "It was tired.", "Dogs bark."
LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.1, 5.0


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not LOWEST_TEMPERATURE <= value <= HIGHEST_TEMPERATURE:
        raise ValueError(f"it must lie between {LOWEST_TEMPERATURE} and {HIGHEST_TEMPERATURE}")
    return value


PARAMS = (
    choice("step", STEPS[0].key, [step.key for step in STEPS]),
    whole_number("neuron", None),
    choice("vector", "q", ("q", "k", "v")),
    choice("part", "attention", ("attention", "ffn")),
    flag("scaled", True),
    flag("causal"),
    Param("temperature", 1.0, _temperature, lambda value: f"{value:g}"),
    Param("second", SECOND),
    Param("third", THIRD),
    choice("pooling", "mean", ("cls", "mean", "attention")),
    whole_number("stage", None),
    flag("check"),
    # Anatomy: the block that is open, and which half of the page.
    Param("block", ""),
    choice("says", "shape", ("shape", "parameters", "flops", "memory")),
    choice("show", "diagram", ("diagram", "cost")),
    # The worked example: which half of the page, and the numbers that were changed.
    choice("worked", "calculation", ("calculation", "notes")),
    Param("hand", ""),
)
