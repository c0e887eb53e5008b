"""One head's map as a page shows it: as a heat map, exact or pooled, as lines, or as the text itself."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from encoder import figures
from encoder.export import head_name
from encoder.measure.head_map import HeadMap
from encoder.measure.passage import Shades, passage, shades
from encoder.trace import pooling_block
from pages.components import lines, plot, plot_window, text_shade
from pages.components.events import LinesEvent, PlotEvent, TextEvent
from pages.core.map_window import EXACT_TOKENS, zoomed
from pages.core.view import View, state
from pages.heads import options as head_options
from pages.heads import prefetch
from pages.heads.options import Options, Selection, hold, shown_map, toggled
from pages.heads.params import MOST_OVERLAID

#: Where no weight of a map is larger than this, colours from 0 to 1 show next to nothing.
FAINT = 0.1
#: Lines' weights take at most so many bytes as 32-bit numbers, else 16-bit ones.
LINES_BYTES = 4_000_000


# --- as a heat map ---------------------------------------------------------------------------------------------------


def is_exact(shown: HeadMap, options: Options) -> bool:
    """Whether a map is drawn cell by cell. Words and parts of a pair always are: their cells count no tokens."""
    most = max(len(shown.query_labels), len(shown.key_labels))
    return most <= EXACT_TOKENS or options.words or options.between != "all"


def draw_map(view: View, options: Options, shown: HeadMap, held: Selection, key: str = "map") -> None:
    """The heat map with its sentence. key: of the plot."""
    figure, caption = head_figure(view, options, shown, held, key)
    name = head_options.name(view, options)
    plot(
        figure,
        key=key,
        alt=f"Attention map of {_spoken(name)}: {len(shown.query_labels)} query tokens downwards, "
        f"{len(shown.key_labels)} key tokens to the right.",
        height=320,
        fill=True,
        reserve=24 + 23 * math.ceil(len(caption) / 62),
        ready=prefetch.offered(view, options, is_exact(shown, options)),
        on_event=lambda event: take_click(event, view, options, shown, held, key),
    )
    st.caption(caption)


def _spoken(name: str) -> str:
    """ "L0 H2" as a screen reader says it."""
    parts = name.split()
    if len(parts) == 2 and parts[0][1:].isdigit() and parts[1][1:].isdigit():
        return f"layer {parts[0][1:]}, head {parts[1][1:]}"
    return name


def head_figure(
    view: View,
    options: Options,
    shown: HeadMap,
    held: Selection,
    key: str,
    scale: str | float | None = None,
) -> tuple[dict, str]:
    """A map as a plain figure, and the sentence under it. key: of the plot that shows it; scale: as in the figure."""
    look = {
        "scale": scale or ("head" if options.own else "fixed"),
        "log": options.log,
        "colours": view.colours,
        "selected": (held.rows(shown), held.columns(shown)),
    }
    if is_exact(shown, options):
        figure = figures.attention_spec(
            shown.weights, shown.query_labels, key_labels=shown.key_labels, square=False, places=shown.places, **look
        )
        return figure, caption(options, view.pair is not None) + _faint(figure, options)
    return _window(view, options, shown, key, look)


def _window(view: View, options: Options, shown: HeadMap, key: str, look: dict) -> tuple[dict, str]:
    trace = view.trace
    queries, keys = zoomed(plot_window(key), trace.n_tokens)
    weights, block = shown.pooled(EXACT_TOKENS, queries, keys)
    figure = figures.window_spec(
        weights.cpu(), trace.labels, block=block, row_offset=queries.start, column_offset=keys.start, **look
    )
    if block == 1:
        return figure, (
            f"Tokens {queries.start:,} to {queries.stop - 1:,} and {keys.start:,} to {keys.stop - 1:,}, each cell one "
            f"weight; a row's sum counts the keys that are not shown, too. Double-click to see all. {caption(options)}"
            f"{_faint(figure, options)}"
        )
    return figure, (
        f"{trace.n_tokens:,} tokens: each cell is the largest weight among {block} × {block} pairs of tokens. "
        f"Drag over a part to zoom in, down to single tokens.{_faint(figure, options)}"
    )


def _faint(figure: dict, options: Options) -> str:
    """Where all weights are so small that colours from 0 to 1 hide them: how to see them."""
    cells = np.asarray(figure["data"][0]["z"])
    known = ~np.isnan(cells)
    largest = float(np.max(cells, initial=0.0, where=known))
    if options.own or options.log or largest >= FAINT or not known.any():
        return ""
    return (
        f" The largest is {largest:.2g}, faint where colours run from 0 to 1: under Options, the range “this map” lets "
        "them run up to it."
    )


def caption(options: Options, pair: bool = False) -> str:
    """What rows and columns are, true for every combination of the options."""
    unit = "word" if options.words else "token"
    part = options.between != "all"
    if options.special == "show":
        rows = f"Each row is a query {unit}, each column a key {unit} that it attends to; "
        rows += "a row sums to less than 1, as the other keys are not shown." if part else "each row sums to 1."
    elif options.special == "zero":
        rows = "Rows and columns of special tokens are set to 0 here, so the other rows sum to less than 1."
    else:
        total = "1 over both sentences" if part else "1"
        rows = "Special tokens are left out: their own rows and columns are empty, and every other row is scaled to "
        rows += f"sum to {total}."
    said = [rows]
    if options.special != "show":
        said.append("The model itself saw them.")
    if options.words:
        said.append("Weights to the pieces of a word are summed, weights from them averaged.")
    return " ".join(said)


def shown_block(view: View, key: str) -> int:
    """How many tokens, each way, one cell of a pooled map stands for as it is drawn now. key: of the plot."""
    n_tokens = view.trace.n_tokens
    return pooling_block(max(side.stop - side.start for side in zoomed(plot_window(key), n_tokens)), EXACT_TOKENS)


def take_click(event: PlotEvent, view: View, options: Options, shown: HeadMap, held: Selection, key: str) -> None:
    """A click on a map: a cell selects query and key, a label one of them; with shift they join those selected."""
    if event["event"] != "click":
        return
    axis, shift = event["axis"], event.get("shift", False)
    if axis == "clear":
        hold((), ())
        return
    if axis == "cell" and not is_exact(shown, options) and shown_block(view, key) > 1:
        return  # such a cell is no single token
    query = shown.query_tokens(event["i"])[0] if axis in ("cell", "y") else None
    column = shown.key_tokens(event["j"])[0] if axis in ("cell", "x") else None
    if query is None and column is None:
        return
    queries, keys = _in_map(held, shown)
    if axis == "cell" and shift:
        hold([*queries, query], [*keys, column]) if not (query in queries and column in keys) else hold(
            toggled(queries, query), toggled(keys, column)
        )
    elif axis == "cell":
        hold([query], [column])
    elif query is not None:
        hold(toggled(queries, query) if shift else [query], keys)
    else:
        hold(queries, toggled(keys, column) if shift else [column])


def _in_map(held: Selection, shown: HeadMap) -> tuple[list[int], list[int]]:
    """The selected tokens, each named by the first token of its row or column, as clicks name them."""
    queries = [shown.query_tokens(row)[0] for row in held.rows(shown)]
    return queries, [shown.key_tokens(column)[0] for column in held.columns(shown)]


# --- as lines --------------------------------------------------------------------------------------------------------


def draw_lines(view: View, options: Options, shown: HeadMap, held: Selection) -> None:
    """Lines from queries to keys: of this head, and of up to eleven more drawn over it."""
    _overlay_controls(view, options)
    heads = line_heads(view, options)
    names = [head_name(view.loaded.config, *one) for one in heads]
    if not head_options.is_whole(view):
        st.info(
            f"Lines are drawn between at most {head_options.WHOLE_TOKENS} tokens; this text has "
            f"{view.trace.n_tokens:,}. Choose Map, which shows texts of any length, or a shorter text."
        )
        return
    maps = [shown_map(view, options, *one) for one in heads]
    weights = np.stack([one.weights.numpy() for one in maps])
    if weights.nbytes > LINES_BYTES:
        weights = np.round(weights.clip(0, 1) * 65535).astype(np.uint16)
    lines(
        weights,
        tokens=shown.query_labels,
        key_tokens=shown.key_labels,
        names=figures.names_of_cells(list(shown.query_labels), list(shown.key_labels), shown.places),
        labels=names,
        key="lines",
        alt=f"Attention as lines: {len(shown.query_labels)} query tokens on the left, {len(shown.key_labels)} key "
        f"tokens on the right; {', '.join(names)}.",
        selected_queries=held.rows(shown),
        selected_keys=held.columns(shown),
        threshold=state.get("least"),
        on_event=lambda event: take_lines(event, shown),
    )
    st.caption(
        "A line is as strong as the weight from the token on the left to the token on the right. Point at a token to "
        "look at it alone, click to hold it, shift-click to hold several: their weights are summed. "
        + _text_options(options)
    )


def line_heads(view: View, options: Options) -> list[tuple[int | None, int | None]]:
    """The open head and those drawn over it, as (layer, head); an average, with None where it is averaged, alone."""
    own = (view.layer, view.head)
    if options.average != "none":
        return [head_options.averaged(*own, options.average)]
    return [own, *(one for one in state.get("overlay") if one != own)][:MOST_OVERLAID]


def _overlay_controls(view: View, options: Options) -> None:
    config = view.loaded.config
    head_options.heads_of_model("overlay", view)
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    with left:
        every = [(layer, head) for layer in range(config.n_layers) for head in range(config.n_heads)]
        state.bound(
            st.multiselect, "overlay", "Heads drawn over this one", every,
            format_func=lambda one: f"L{one[0]} H{one[1]}", max_selections=MOST_OVERLAID - 1,
            placeholder="None", disabled=options.average != "none",
        )  # fmt: skip
    with right:
        state.bound(
            st.slider, "least", "Weights from", min_value=0.0, max_value=1.0, step=0.01,
            help="Weaker lines are not drawn; the numbers count them all the same.",
        )  # fmt: skip


def take_lines(event: LinesEvent, shown: HeadMap) -> None:
    """The tokens held in the lines become the selection."""
    hold(
        [shown.query_tokens(row)[0] for row in event["queries"]],
        [shown.key_tokens(column)[0] for column in event["keys"]],
    )


# --- as the text itself ----------------------------------------------------------------------------------------------


def draw_text(view: View, options: Options, shown: HeadMap, held: Selection) -> None:
    """The text, shaded by what the selected tokens attend to, or by who attends to them."""
    direction = state.bound(
        st.segmented_control, "direction", "Shaded by", ["to", "from"], required=True,
        label_visibility="collapsed",
        format_func={"to": "what it attends to", "from": "who attends to it"}.get,
    )  # fmt: skip
    found = shades(
        view.trace, shown, direction, held.queries if direction == "to" else held.keys,
        words=options.words, padding=options.padding,
    )  # fmt: skip
    text = passage(view.trace, found.units)
    text_shade(
        text.paragraphs,
        labels=figures.disambiguate(found.labels, [group[0] for group in found.units]),
        values=np.array(found.values),
        rows=found.rows,
        columns=found.columns,
        key="text",
        alt=f"The text, shaded by attention in {head_options.name(view, options)}.",
        title="attention weight" if len(found.held) < 2 else "attention weights, summed",
        direction=direction,
        weights=shown.weights.numpy() if head_options.is_whole(view) else None,
        held=found.held,
        special=text.special,
        own=options.own,
        log=options.log,
        on_event=lambda event: take_text(event, found.units, direction),
    )
    st.caption(f"{_meaning(found)} {_text_options(options)}".strip())


def _meaning(found: Shades) -> str:
    """What the shades are, in words."""
    if not found.held:
        return (
            "Nothing is selected: the shade is the mean weight that a token receives from all. Point at a token to "
            "look at it alone, click to select it, shift-click to select several."
        )
    count = len(found.held)
    those = "the selected token" if count == 1 else f"the {count} selected tokens"
    said = "The stronger a token's shade, the more "
    if found.direction == "to":
        return f"{said}{those} {'attends' if count == 1 else 'together attend'} to it."
    return f"{said}it attends to {those}."


def _text_options(options: Options) -> str:
    said = []
    if options.special != "show":
        said.append(caption(options))
    elif options.words:
        said.append("Weights to the pieces of a word are summed, weights from them averaged.")
    return " ".join(said)


def take_text(event: TextEvent, units: tuple[tuple[int, ...], ...], direction: str) -> None:
    """The units held in the text become the selected queries, or keys."""
    tokens = [units[unit][0] for unit in event["units"]]
    if direction == "to":
        hold(tokens, ())
    else:
        hold((), tokens)
