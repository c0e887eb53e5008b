"""Pictures of `encoder.export` in the app: attention as lines, a shaded text, the whole model.

Each takes a Picture, a key for the widget (and a downloaded picture), and `on_event`, which is called with an event
before the page runs, so it may change other widgets' state.
"""

from collections.abc import Callable

from encoder.drawing.picture import Picture

from . import assets, events
from .events import LinesEvent, ModelEvent, ShadeEvent

_lines, _text, _model = map(assets.component, ("lines", "text_shade", "model_picture"))


def lines(picture: Picture, *, key: str, on_event: Callable[[LinesEvent], None] | None = None) -> None:
    """Draws attention as lines from queries (left) to keys (right): a picture of `export.lines(...)`.

    Pointing at a token shows its lines, a click selects it, a click with Shift selects several. Each token of the other
    side gets a square per head, as strong as its weight, and one number: its weights with the selected tokens, summed
    and averaged over the heads.
    """
    _, n_queries, n_keys = picture.arrays["weights"].shape
    _lines(
        key=key,
        data=picture.block(name=key),
        height=picture.height,
        on_select_change=lambda: events.tell(
            key, "select", lambda value: events.lines_event(value, (n_queries, n_keys)), on_event
        ),
    )


def text_shade(picture: Picture, *, key: str, on_event: Callable[[ShadeEvent], None] | None = None) -> None:
    """Draws a text of U units whose shade is a weight: a picture of `export.text(...)`.

    A click selects a unit, a click with Shift selects several. Where the picture has the weights and nothing is
    selected, pointing at a unit shows its weights.
    """
    count = len(picture.arrays["values"])
    _text(
        key=key,
        data=picture.block(name=key),
        on_select_change=lambda: events.tell(key, "select", lambda value: events.text_event(value, count), on_event),
    )


def model_picture(picture: Picture, *, key: str, on_event: Callable[[ModelEvent], None] | None = None) -> None:
    """Draws the tokens' residual streams through all layers, with one layer and one head in full: `export.model(...)`.

    Pointing at a token lights its way up. A click on a line opens the arithmetic of that weight, in the browser; a
    click on a token, a layer, a head, a part or a switch is an event, and so is another window of a long input.
    """

    def decoder(name: str) -> events.Decode:
        return lambda value: events.model_event(name, value, picture.header)

    decoders = {name: decoder(name) for name in ("open", "select", "part", "switch", "pan")}
    heard = {f"on_{name}_change": lambda: events.tell_all(key, decoders, on_event) for name in decoders}
    _model(key=key, data=picture.block(), height=picture.height, **heard)
