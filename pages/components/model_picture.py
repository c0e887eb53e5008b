"""`model_picture`: the whole model as one picture, in the app."""

from __future__ import annotations

from collections.abc import Callable

from encoder.export.picture import Picture

from . import assets, events
from .events import ModelEvent

#: What the places of an event are below.
PLACES = ("layers", "heads", "count", "width", "neuronCount")

_render = assets.component("model_picture")


def model_picture(picture: Picture, *, key: str, on_event: Callable[[ModelEvent], None] | None = None) -> None:
    """Draws the tokens' residual streams through all layers, with one layer and one head in full.

    Pointing at a token lights its way up. A click on a line opens the arithmetic of that weight, in the browser; a
    click on a token, a layer, a head, a part or a switch is an event, and so is another window of a long input.

    Args:
        picture: of `encoder.export.model_picture.model_picture`.
        key: the widget's key.
        on_event: called with the event before the page runs, so it may change other widgets' state.
    """
    limits = {name: int(picture.header[name]) for name in PLACES}  # type: ignore[call-overload]

    def told(name: str) -> None:
        events.tell(key, name, lambda value: events.model_event(name, value, limits), on_event)

    _render(
        key=key,
        data=picture.block(),
        height=picture.height,
        on_open_change=lambda: told("open"),
        on_select_change=lambda: told("select"),
        on_part_change=lambda: told("part"),
        on_switch_change=lambda: told("switch"),
        on_pan_change=lambda: told("pan"),
    )
