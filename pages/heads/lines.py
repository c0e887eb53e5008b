"""The lines view: a line from each query to each key, for the open head and for heads over it."""

import streamlit as st

from encoder import export
from encoder.export import Lines, Map
from encoder.views.lines import too_long
from pages.components import lines
from pages.components.events import LinesEvent
from pages.core.view import View, maps
from pages.core.view.selection import select_several, selected
from pages.core.words import gestures
from pages.heads import options
from pages.heads.head_maps import single
from pages.heads.params import MOST_OVERLAID, Params
from pages.state import Head, state

#: Above this many bytes, weights travel to the browser as 16-bit numbers; files use them sooner.
EXACT_BYTES = 4_000_000


def draw_lines(view: View, head: Map) -> Lines | None:
    """Draw the lines and return them; None for a text that is too long."""
    picture = st.container()  # its controls are below it
    overlay, minimum = _controls(view, head)
    if said := too_long(view.trace):
        st.info(said)
        return None
    heads = [*head.heads, *overlay][:MOST_OVERLAID]
    chosen = selected(view)
    drawn = export.lines(
        view.trace,
        heads,
        threshold=minimum,
        queries=chosen.queries,
        keys=chosen.keys,
        options=head.options,
        maps=[maps.of_head(view, head.options, *one) for one in heads],  # type: ignore[misc]
    )
    caption = [
        "Each line runs from a query token (left) to a key token (right); a stronger line is a larger weight.",
        gestures.invitation(
            f"{gestures.either('Point at a token to see only its lines. Click', 'Tap a token')} to select it, "
            f"{gestures.SHIFT_CLICK} to select several: their weights are summed."
        ),
        *head.options.sentences(),
    ]
    with picture:
        lines(drawn.picture(EXACT_BYTES), key="lines", on_event=lambda event: _on_event(event, head))
        gestures.caption(" ".join(caption))
    return drawn


def _controls(view: View, head: Map) -> tuple[list[Head], float]:
    """The heads over the open one, and the smallest weight with a line."""
    config, average = view.loaded.config, single(head) is None
    options.heads_of_model(Params.overlay, view)
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with left:
        overlay = state.bound(
            st.multiselect,
            Params.overlay,
            "Overlay heads",
            [(layer, number) for layer in range(config.n_layers) for number in range(config.n_heads)],
            format_func=lambda one: f"L{one[0]} H{one[1]}",
            max_selections=MOST_OVERLAID - 1,
            placeholder="None",
            disabled=average,
        )
    with right:
        minimum = state.bound(
            st.slider,
            Params.minimum,
            "Minimum weight",
            min_value=0.0,
            max_value=1.0,
            step=0.01,
            help="Hides weaker lines. The numbers next to the tokens still include them.",
        )
    return [] if average else [one for one in overlay if one != single(head)], minimum


def _on_event(event: LinesEvent, head: Map) -> None:
    select_several(
        [head.shown.query_tokens(row)[0] for row in event["queries"]],
        [head.shown.key_tokens(column)[0] for column in event["keys"]],
    )
