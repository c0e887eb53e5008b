"""The values of the page “Gradients at initialisation” in the address."""

from __future__ import annotations

from dataclasses import dataclass

from pages.state.params import Param, choice, whole_number
from pages.state.url_state import state

WIDTHS = ("32", "64", "128", "256")
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
MOST_SEEDS, MOST_HEADS = 5, 16


def _depths(text: str) -> list[int]:
    asked = text.split(",") if text else []  # no depth may be chosen
    if not set(asked) <= {str(depth) for depth in DEPTHS}:
        raise ValueError(f"choose among {', '.join(map(str, DEPTHS))}")
    return [depth for depth in DEPTHS if str(depth) in asked]


@state.register
@dataclass(frozen=True)
class Params:
    """What to measure. depth: the one whose layers are shown, "" for the deepest."""

    setting: Param[str] = choice("theory", ("theory", "real"), url="grad_setting")
    width: Param[str] = choice("128", WIDTHS, url="grad_width")
    depths: Param[list[int]] = Param([2, 4, 6, 8, 12], _depths, lambda value: ",".join(map(str, value)), "grad_depths")
    heads: Param[int] = whole_number(1, 1, MOST_HEADS, url="grad_heads")
    seeds: Param[int] = whole_number(2, 1, MOST_SEEDS, url="grad_seeds")
    depth: Param[str] = choice("", ("", *map(str, DEPTHS)), url="grad_depth")
