"""`text_shade`: a text shaded by attention, whose words you select by click or key, in the app."""

from __future__ import annotations

from collections.abc import Callable

from encoder.export.picture import Picture

from . import assets, events
from .events import TextEvent

_render = assets.component("text_shade")


def text_shade(
    picture: Picture,
    *,
    key: str,
    always_selected: bool = False,
    on_event: Callable[[TextEvent], None] | None = None,
) -> None:
    """Draws a text of U units whose shade is a weight.

    A click selects a unit, a click with Shift selects several. Where the picture has the weights and nothing is
    selected, pointing at a unit shows its weights.

    Args:
        picture: of `export.text(...).picture()`.
        key: the widget's key, and the name of a downloaded picture.
        always_selected: the last selected unit cannot be cleared.
        on_event: called with the event before the page runs, so it may change other widgets' state.
    """
    count = len(picture.arrays["values"])
    _render(
        key=key,
        data=picture.block(name=key, alwaysSelected=always_selected),
        on_select_change=lambda: events.tell(key, "select", lambda value: events.text_event(value, count), on_event),
    )
