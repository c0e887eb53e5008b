"""The values of the page "Gradients at initialisation", as they stand in the URL."""

from __future__ import annotations

from pages.shared.url_state import Param, choice, whole_number

WIDTHS = ("32", "64", "128", "256")
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
MOST_SEEDS, MOST_HEADS = 5, 16


def _depths(text: str) -> list[int]:
    asked = text.split(",") if text else []  # a link to the page where none is chosen
    if not set(asked) <= {str(depth) for depth in DEPTHS}:
        raise ValueError(f"choose among {', '.join(map(str, DEPTHS))}")
    return [depth for depth in DEPTHS if str(depth) in asked]


PARAMS = (
    choice("grad_setting", "theory", ("theory", "real")),
    choice("grad_width", "128", WIDTHS),
    Param("grad_depths", [2, 4, 6, 8, 12], _depths, lambda value: ",".join(map(str, value))),
    whole_number("grad_heads", 1, 1, MOST_HEADS),
    whole_number("grad_seeds", 2, 1, MOST_SEEDS),
    choice("grad_depth", "", ("", *map(str, DEPTHS))),
)
