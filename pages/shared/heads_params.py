"""The values of the Heads page and of everything else that looks at many heads, as they stand in the URL."""

from __future__ import annotations

import math

from encoder.measure.aggregate import PAIRS
from encoder.measure.definitions import HEAD_MEASURES
from encoder.measure.heads import STRONG
from encoder.measure.roles import ROLES, Thresholds
from pages.shared.components import HEAD_COLOURS
from pages.shared.url_state import Param, choice, flag, whole_number

Head = tuple[int, int]  # (layer, head), counted from 0

VIEWS = ("map", "lines", "text")
AVERAGES = ("none", "heads", "layers", "both")
MOST_PINS = 4
MOST_OVERLAID = len(HEAD_COLOURS)
#: More tokens held at once than this make a link that nobody reads, and a sum that says nothing.
MOST_HELD = 64


def number(name: str, default: float, low: float, high: float) -> Param:
    """A Param that takes a number from `low` to `high`."""

    def parse(text: str) -> float:
        return _between(text, low, high)

    return Param(name, default, parse, lambda value: f"{value:g}")


def _between(text: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number is needed") from None
    if not low <= value <= high:  # NaN fails, too
        raise ValueError(f"it must lie between {low:g} and {high:g}")
    return value


def positions(name: str) -> Param:
    """A Param that takes token positions: "3,5" -> [3, 5], ascending, each once."""

    def parse(text: str) -> list[int]:
        why = "token positions are whole numbers with commas between them, like 3,5"
        found = {_count(part, why) for part in text.split(",") if text}
        if len(found) > MOST_HELD:
            raise ValueError(f"at most {MOST_HELD} tokens can be held at once")
        return sorted(found)

    return Param(name, [], parse, lambda value: ",".join(map(str, value)))


def heads(name: str, most: int) -> Param:
    """A Param that takes heads: "0.2,1.8" -> [(0, 2), (1, 8)], layer and head counted from 0, in the order given."""
    why = "heads are layer.head with commas between them, like 0.2,1.8"

    def parse(text: str) -> list[Head]:
        found: dict[Head, None] = {}
        for part in text.split(",") if text else ():
            layer, point, head = part.partition(".")
            if not point:
                raise ValueError(why)
            found[_count(layer, why), _count(head, why)] = None
        if len(found) > most:
            raise ValueError(f"at most {most} heads can be chosen")
        return list(found)

    return Param(name, [], parse, lambda value: ",".join(f"{layer}.{head}" for layer, head in value))


def _count(text: str, why: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise ValueError(why)
    return int(text)


def span(name: str) -> Param:
    """A Param that takes two numbers, the lower first: "0.2..0.8" -> (0.2, 0.8). None: no limits."""

    def parse(text: str) -> tuple[float, float] | None:
        if not text:
            return None
        low, dots, high = text.partition("..")
        if not dots:
            raise ValueError("two numbers are needed, like 0.2..0.8")
        ends = _between(low, -math.inf, math.inf), _between(high, -math.inf, math.inf)
        if ends[0] > ends[1]:
            raise ValueError("the lower number comes first")
        return ends

    return Param(name, None, parse, lambda value: "" if value is None else f"{value[0]:g}..{value[1]:g}")


_USUAL = Thresholds()

PARAMS = (
    choice("view", "map", VIEWS),
    # Tokens held beside i and j, so that their attention is summed.
    positions("hold"),
    positions("hold_keys"),
    flag("words"),
    # The length of the batch that the text is padded for; whether padding's rows and columns are shown.
    whole_number("pad", None, 1),
    flag("padding"),
    choice("between", "all", PAIRS),
    choice("average", "none", AVERAGES),
    # Lines: heads drawn over one another, and from which weight on; long texts from which token on.
    heads("overlay", MOST_OVERLAID),
    number("least", 0.0, 0.0, 1.0),
    # Text: what the selected tokens attend to, or who attends to them.
    choice("direction", "to", ("to", "from")),
    # The grid: heads side by side; by which measure heads are coloured, sorted and filtered; by which role filtered.
    heads("pins", MOST_PINS),
    choice("measure", "", ("", *(definition.name for definition in HEAD_MEASURES))),
    choice("sort", "place", ("place", "falling", "rising")),
    span("keep"),
    choice("role", "", ("", *(role.name for role in ROLES))),
    flag("badges", True),
    # From where on a head has a role; from where on a weight is strong.
    number("role_position", _USUAL.position, 0.0, 1.0),
    number("role_top", _USUAL.top, 0.0, 1.0),
    number("role_special", _USUAL.special, 0.0, 1.0),
    number("role_broad", _USUAL.broad, 0.0, 10.0),
    number("role_same", _USUAL.same, 0.0, 1.0),
    number("strong", STRONG, 0.0, 1.0),
)
