"""The values of the page "Train them yourself", as they stand in the URL."""

from __future__ import annotations

from collections.abc import Iterable

from encoder.config import NORM_PLACEMENTS, POSITION_KINDS
from encoder.train.tasks import TASKS
from pages.shared.url_state import Param, choice, flag, whole_number

#: Smallest and largest of what is offered; larger runs take minutes rather than seconds.
BOUNDS = {
    "length": (4, 32), "symbols": (2, 16), "train_layers": (1, 12), "train_heads": (1, 8), "train_width": (8, 128),
    "rise": (1, 1000), "steps": (20, 3000),
}  # fmt: skip
LOWEST_RATE, HIGHEST_RATE = 1e-5, 10.0
WARM = ("with", "without")


def several(name: str, default: list[str], options: Iterable[str]) -> Param:
    """A Param that takes one or more of several words, in their order."""
    known = tuple(options)

    def parse(text: str) -> list[str]:
        asked = text.split(",")
        if not set(asked) <= set(known):
            raise ValueError(f"choose among {', '.join(known)}")
        return [option for option in known if option in asked]

    return Param(name, default, parse, ",".join)


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not LOWEST_RATE <= value <= HIGHEST_RATE:
        raise ValueError(f"it must lie between {LOWEST_RATE:g} and {HIGHEST_RATE:g}")
    return value


PARAMS = (
    choice("task", "reverse", TASKS),
    several("train_norm", ["pre", "post"], NORM_PLACEMENTS),
    several("warm", ["with"], WARM),
    several("encodings", ["learned"], POSITION_KINDS),
    Param("rate", 3e-3, _rate, lambda value: f"{value:g}"),
    whole_number("rise", 50, *BOUNDS["rise"]),
    whole_number("steps", 400, *BOUNDS["steps"]),
    whole_number("length", 16, *BOUNDS["length"]),
    whole_number("symbols", 10, *BOUNDS["symbols"]),
    whole_number("train_layers", 1, *BOUNDS["train_layers"]),
    whole_number("train_heads", 1, *BOUNDS["train_heads"]),
    whole_number("train_width", 32, *BOUNDS["train_width"]),
    whole_number("train_seed", 0, 0, 999_999),
    # What is watched: a head, on the sample sequence or as a mean over the held-out ones.
    whole_number("watch_layer", 0),
    whole_number("watch_head", 0),
    flag("watch_mean"),
)
