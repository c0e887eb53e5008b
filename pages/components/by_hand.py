"""`by_hand`: one encoder layer whose numbers a reader changes; the browser computes it at once."""

import dataclasses
from collections.abc import Callable

from encoder.drawing import wire
from encoder.explain.by_hand import NOTES_POSITIONS, Inputs

from . import assets, events
from .headers import ByHandHeader

_render = assets.component("by_hand")

#: Letters of the longest event: every number of the page with 30 digits.
LONGEST = 8_000


def by_hand(inputs: Inputs, *, key: str, problem: bool, on_change: Callable[[str], None]) -> None:
    """Draws the layer. `on_change` gets the numbers that differ from the example as JSON, or "", before the page runs.

    problem: these inputs do not fit together, so only their tables are drawn.
    """
    header: ByHandHeader = {
        "inputs": dataclasses.asdict(inputs),
        "usual": dataclasses.asdict(Inputs()),
        "notes": NOTES_POSITIONS,
        "problem": problem,
        "heard": events.heard(key),
    }
    _render(
        key=key,
        data=wire.pack(header, {}),
        on_change_change=lambda: events.tell(key, "change", _changes, on_change),
    )


def _changes(value: object) -> str | None:
    """The changed numbers as the browser sent them; None for anything else. The page checks the numbers."""
    text = value.get("text") if isinstance(value, dict) else None
    return text if isinstance(text, str) and len(text) <= LONGEST else None
