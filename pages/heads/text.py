"""The text view: the text itself, shaded by attention."""

import streamlit as st

from encoder import export
from encoder.export import Map, Text
from encoder.measure.passage import Shades
from pages.components import text_shade
from pages.components.events import ShadeEvent
from pages.core.view import View
from pages.core.view.selection import select_several, selected
from pages.core.words import gestures
from pages.heads.lines import EXACT_BYTES
from pages.heads.params import Params
from pages.state import state


def draw_text(view: View, head: Map) -> Text:
    """Draw the text and return it, shaded by what the selected tokens attend to, or by what attends to them."""
    picture = st.container()  # its control is below it
    directions = {"to": "What it attends to", "from": "What attends to it"}
    direction = state.segmented(Params.direction, "Shaded by", directions, label_visibility="collapsed")
    chosen = selected(view)
    drawn = export.text(
        view.trace,
        *head.heads[0],
        direction=direction,
        selected=chosen.queries if direction == "to" else chosen.keys,
        options=head.options,
        shown=head.shown,
    )
    found = drawn.shades
    with picture:
        text_shade(drawn.picture(EXACT_BYTES), key="text", on_event=lambda event: _on_event(event, found))
        gestures.caption(" ".join([_meaning(found), *head.options.sentences()]))
    return drawn


def _meaning(found: Shades) -> str:
    """What a shade means."""
    if not found.selected:
        how = (
            f"{gestures.either('Point at a token to see its own attention. Click', 'Tap a token')} to select it, "
            f"{gestures.SHIFT_CLICK} to select several."
        )
        return f"Shade: the mean weight that a token receives from all tokens. {gestures.invitation(how)}"
    preposition = "from" if found.direction == "to" else "to"
    tokens = "the selected token" if len(found.selected) == 1 else f"the {len(found.selected)} selected tokens, summed"
    return f"A stronger shade is a larger weight {preposition} {tokens}."


def _on_event(event: ShadeEvent, found: Shades) -> None:
    tokens = [found.units[unit][0] for unit in event["units"]]
    if found.direction == "to":
        select_several(tokens, ())
    else:
        select_several((), tokens)
