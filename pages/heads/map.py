"""The map view: a heat map of the open head, with exact cells or blocks of tokens; pinned heads side by side."""

from functools import partial

import streamlit as st

from encoder.export import Map, Options
from encoder.figures.numbers import three_digits
from encoder.maps import EXACT_TOKENS, beyond
from encoder.model.overview import pooling_block
from pages.components import plot, plot_window
from pages.components.button import button
from pages.components.events import PlotEvent
from pages.core.view import View, selection
from pages.core.view.map_window import zoom_of, zoomed
from pages.core.view.selection import clear, select_several, toggled
from pages.core.widgets import answer
from pages.core.words import gestures
from pages.heads import next_head
from pages.heads.head_maps import head_figure, map_of, single
from pages.heads.options import heads_of_model, toggle_pin
from pages.heads.params import Params
from pages.state import Param, ZoomWindow


def draw_map(view: View, head: Map, key: str = "map") -> None:
    """The heat map with its caption. key: of the plot."""
    zoom = zoom_of(head.shown.query_labels, head.shown.key_labels)
    window = plot_window(key, zoom)
    figure, caption = head_figure(head, window)
    place = single(head)
    name = head.name if place is None else f"layer {place[0]}, head {place[1]}"
    plot(
        figure,
        key=key,
        alt=f"Attention map of {name}: {len(head.shown.query_labels)} query tokens downwards, "
        f"{len(head.shown.key_labels)} key tokens to the right.",
        next_head=next_head.offered(view, head, window),
        together=answer.together(),
        selected=(head.queries, head.keys),
        zoom=zoom,
        on_event=lambda event: on_map_event(event, head, key, zoom),
    )
    gestures.caption(caption)


def on_map_event(event: PlotEvent, head: Map, key: str, zoom: Param[ZoomWindow | None] | None = None) -> None:
    """A click selects: a cell its query and key, a label one of them. With shift it adds them or takes them away."""
    axis, shift = event["axis"], event.get("shift", False)
    if axis == "clear":
        clear()
    if axis not in ("cell", "x", "y") or (axis == "cell" and _cell_is_block(head, key, zoom)):
        return
    # As in a click, a selected token is named by the first token of its row or column.
    queries = [head.shown.query_tokens(row)[0] for row in head.queries]
    keys = [head.shown.key_tokens(column)[0] for column in head.keys]
    if axis == "y":
        query = head.shown.query_tokens(event["i"])[0]
        select_several(toggled(queries, query) if shift else [query], keys)
    elif axis == "x":
        column = head.shown.key_tokens(event["j"])[0]
        select_several(queries, toggled(keys, column) if shift else [column])
    else:
        query, column = head.shown.query_tokens(event["i"])[0], head.shown.key_tokens(event["j"])[0]
        if not shift:
            select_several([query], [column])
        elif query in queries and column in keys:
            select_several(toggled(queries, query), toggled(keys, column))
        else:
            select_several([*queries, query], [*keys, column])


def _cell_is_block(head: Map, key: str, zoom: Param[ZoomWindow | None] | None) -> bool:
    """Whether a cell, as the plot shows the map now, is several tokens wide."""
    if head.is_exact:
        return False
    sides = zoomed(plot_window(key, zoom), head.trace.n_tokens)
    return pooling_block(max(side.stop - side.start for side in sides), EXACT_TOKENS) > 1


def draw_pins(view: View, options: Options) -> None:
    """The pinned heads, if there are any."""
    pins = heads_of_model(Params.pins, view)
    if not pins:
        return
    st.header("Pinned heads", anchor=False)
    if said := beyond(view.trace, "Pinned heads are drawn", "They stay pinned."):
        st.info(said)
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
            head.name,
            key=f"open:{layer}.{number}",
            type="tertiary",
            help="Open this head",
            on_click=selection.open_head,
            args=(layer, number),
        )
        button(
            f"Unpin {head.name}",
            "keep_off",
            f"unpin:{layer}.{number}",
            partial(toggle_pin, layer, number),
            help=f"Unpin {head.name}",
            type="tertiary",
        )
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
