"""Pinned heads: up to four maps side by side, with one colour scale and one selection."""

import streamlit as st

from encoder.export import Map, Options
from encoder.figures.numbers import three_digits
from encoder.measure.head_map import WHOLE_TOKENS
from pages.components import plot, plot_window
from pages.core.view import View, selection
from pages.heads.head_maps import head_figure, is_whole, map_of
from pages.heads.map import on_map_event
from pages.heads.options import heads_of_model, toggle_pin
from pages.heads.params import Params


def draw_pins(view: View, options: Options) -> None:
    """The pinned heads, if there are any."""
    pins = heads_of_model(Params.pins, view)
    if not pins:
        return
    st.header("Pinned heads", anchor=False)
    if not is_whole(view):
        st.info(
            f"Pinned heads are drawn up to {WHOLE_TOKENS} tokens; this text has {view.trace.n_tokens:,}. They stay "
            "pinned."
        )
        return
    heads = [map_of(view, options, *one) for one in pins]
    largest = max(_end_of_colours(head) for head in heads)
    if len(pins) == 1:
        st.caption("Pin up to three more heads to compare them side by side.")
    else:
        st.caption(f"All {len(pins)} maps share the selection and one colour scale, from 0 to {three_digits(largest)}.")
    with st.container(key=f"heads-pins-{len(pins)}"):
        for head, place in zip(heads, pins, strict=True):
            with st.container(gap="small"):
                _pinned(head, *place, largest)


def _end_of_colours(head: Map) -> float:
    """The weight at which the colours of a map end by itself."""
    weights, block = head.cells
    end = head.scale(weights, block)
    if end == "head":
        return float(weights.max()) or 1.0
    return 1.0 if end == "fixed" else float(end)


def _pinned(head: Map, layer: int, number: int, largest: float) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button(
            head.name, key=f"open:{layer}.{number}", type="tertiary", help="Open this head",
            on_click=selection.open_head, args=(layer, number),
        )  # fmt: skip
        st.button(
            f"Unpin {head.name}", icon=":material/keep_off:", key=f"unpin:{layer}.{number}",
            help=f"Unpin {head.name}", on_click=toggle_pin, args=(layer, number), type="tertiary",
        )  # fmt: skip
    key = f"pin-{layer}-{number}"
    figure, _ = head_figure(head, plot_window(key), scale=largest)
    plot(
        figure,
        key=key,
        alt=f"Attention map of the pinned layer {layer}, head {number}.",
        height=260,
        fill=True,
        selected=(head.queries, head.keys),
        on_event=lambda event: on_map_event(event, head, key),
    )
