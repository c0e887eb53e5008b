"""`lines`: tokens on two sides and a line for every weight, in the app."""

from __future__ import annotations

from collections.abc import Callable

from encoder.export.picture import Picture

from . import assets, events
from .events import LinesEvent

_render = assets.component("lines")


def lines(
    picture: Picture,
    *,
    key: str,
    always_selected: bool = False,
    on_event: Callable[[LinesEvent], None] | None = None,
) -> None:
    """Draws attention as lines from queries (left) to keys (right).

    Pointing at a token shows its lines, a click selects it, a click with Shift selects several. Each token of the other
    side gets a square per head, as strong as its weight, and one number: its weights with the selected tokens, summed
    and averaged over the heads.

    Args:
        picture: of `export.lines(...).picture()`.
        key: the widget's key, and the name of a downloaded picture.
        always_selected: one query stays selected, and one key at most is selected next to it.
        on_event: called with the event before the page runs, so it may change other widgets' state.
    """
    _, n_queries, n_keys = picture.arrays["weights"].shape
    _render(
        key=key,
        data=picture.block(name=key, alwaysSelected=always_selected),
        height=picture.height,
        on_select_change=lambda: events.tell(
            key, "select", lambda value: events.lines_event(value, (n_queries, n_keys)), on_event
        ),
    )
