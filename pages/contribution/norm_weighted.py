"""Norm-weighted attention of a head, next to its attention; and of whole layers, the opening token against a word."""

from collections.abc import Mapping
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.documents import tables
from encoder.figures.norm_weighted import shares_by_layer, weighted_heatmap
from encoder.figures.numbers import three_digits
from encoder.maps import EXACT_TOKENS
from encoder.measure import norm_weighting, ranking
from encoder.model.overview import pooling_block
from pages.components import on_click, plot, plot_window
from pages.contribution import colour_range
from pages.contribution.params import Params
from pages.core.frame import input_row
from pages.core.inputs.input_words import InputWords, words_of
from pages.core.view import MapParams, View, ViewParams, map_window, maps, selection
from pages.core.widgets import Export, adjust, answer, place, title
from pages.core.words import about, formulas, gestures, plain, references, token_names
from pages.state import state

RULE = (
    r"\begin{gathered}\alpha_{ij}\,\lVert f(x_j) \rVert,\qquad f(x) = (x W_V + b_V)\, W_O \\"
    r"\sum_j \alpha_{ij}\, f(x_j) = \text{output of the head at } i\end{gathered}"
)
TITLES = {
    "attention": "Attention",
    "share": "Norm-weighted attention, shares of a row",
    "length": "Norm-weighted attention, weight × norm",
}


#: Texts of more tokens get a progress bar.
SHORT_TEXT = 512
#: A layer counts as a sink layer where the opening token has this many times the attention of an average word.
MUCH = 3


def show(view: View) -> Export:
    """The whole part of the page: one head, then all layers."""
    _controls(words_of(view.trace))
    params, look = state.read(Params), state.read(MapParams)
    with answer.area():
        answer.draw_row(view, lambda row: _measures(view, row), linked=True, leads=partial(_answer, view))
        input_row.place_on_picture(view)
        drawn = {f"{TITLES[params.weighted]}, L{view.layer} H{view.head}": _map(view, params.weighted, look)}
    if view.trace.n_tokens > EXACT_TOKENS:
        st.caption(
            f"{view.trace.n_tokens:,} tokens: a cell shows the largest number among several tokens. Drag over a part "
            "of a map to zoom in, down to single tokens."
        )
    st.caption(_of_head(view))
    drawn |= show_layers(view)
    st.caption(about.text(__file__, "Limits of norm-weighted attention"))
    with st.expander("The formula"):
        formulas.show(RULE)
        st.markdown(about.text(__file__, "Norm-weighted attention in symbols"))
    layer, head = view.layer, view.head
    return Export(
        view,
        title(view, f"Norm-weighted attention of L{layer} H{head}"),
        lambda: tables.norm_weighted_frame(view.trace, layer, head),
        figures=drawn,
        lines=f"from encoder.measure import norm_weighted\nweighted = norm_weighted(trace, {layer}, {head})",
        settings=place(view),
    )


def _controls(words: InputWords) -> None:
    with adjust.drawer("norm-weighted"):
        state.segmented(
            Params.weighted,
            "Map",
            {"share": "Shares of a row", "length": "Weight × norm", "attention": "Attention"},
            help="Shares: norm-weighted attention, each row divided by its sum, so that its colours compare with those "
            "of attention. Weight × norm: the numbers themselves. Attention: the weights only.",
        )
        state.segmented(MapParams.scale, "Colour", ["linear", "log"])
        colour_range.control(words, " With **0 to 1**, the colours of weight × norm stop at the layer's largest norm.")


def _map(view: View, kind: str, look: MapParams) -> go.Figure:
    """The map, exact or pooled around its zoom window; a click selects a query and a key."""
    trace, key = view.trace, f"norm-weighted-{kind}"
    window = trace.n_tokens > EXACT_TOKENS
    queries, keys = map_window.zoomed(plot_window(key) if window else None, trace.n_tokens)
    block = pooling_block(max(queries.stop - queries.start, keys.stop - keys.start), EXACT_TOKENS)
    plot(
        figure := _figure(view, kind, look, queries, keys, block),
        key=key,
        alt=f"{TITLES[kind]}, layer {view.layer}, head {view.head}: {trace.n_tokens} query tokens downwards, as many "
        "key tokens to the right.",
        shows=kind,
        selected=(view.i, view.j),
        on_event=lambda event: selection.select_from(event, block),
    )
    return figure


def _figure(view: View, kind: str, look: MapParams, queries: slice, keys: slice, block: int) -> go.Figure:
    trace, layer, head, size = view.trace, view.layer, view.head, EXACT_TOKENS
    window, first = trace.n_tokens > size, (queries.start, keys.start)
    options = {"log": look.scale == "log", "colours": view.colours, "selected": (view.i, view.j)}
    if window:
        options |= {"row_offset": queries.start, "column_offset": keys.start, "block": block}
    if kind == "attention":
        values = trace.pooled_attention(layer, head, size, queries, keys).cpu()
        draw = figures.attention_window if window else figures.attention_heatmap
        return draw(values, trace.labels, scale=colour_range.end(view, values, first, block), **options)
    values = norm_weighting.pooled_norm_weighted(
        trace, layer, head, shares=kind == "share", size=size, queries=queries, keys=keys
    ).cpu()
    largest = colour_range.end(view, values, first, block, shares=kind == "share")
    if kind == "length" and look.range == "fixed":
        largest = float(norm_weighting.value_norms(trace, layer).max())
    return weighted_heatmap(values, trace.labels, kind, largest=largest, window=window, **options)


def _measures(view: View, row: slice) -> dict[str, ranking.Weights]:
    """Rows of the head by both measures: attention, and shares of norm-weighted attention."""
    return {
        "attention": view.trace.attention(view.layer, view.head, row),
        "norm-weighted": norm_weighting.norm_weighted_shares(view.trace, view.layer, view.head, row),
    }


def _answer(view: View, row: Mapping[str, ranking.Weights]) -> tuple[str, str]:
    """Whether the largest weight adds most, too; the token whose share of weight × norm falls most, and the largest."""
    assert view.i is not None, "a row is selected"
    labels, attention, weighted = view.trace.labels, row["attention"], row["norm-weighted"]
    most, best, fallen = int(attention.argmax()), int(weighted.argmax()), ranking.falls_most(attention, weighted)
    query, key, other = (token_names.bold(labels, at) for at in (view.i, most, best))
    first = f"{query} gives most attention to {key}, **{three_digits(float(attention[most]))}**"
    share = f"**{three_digits(float(weighted[best]))}** of the row’s weight × norm"
    if most == best:
        first += f", which also adds most: {share}."
    else:
        first += f", but {other} adds most: {share}; {key} **{three_digits(float(weighted[most]))}**."
    return (
        first,
        f"Falls most: {token_names.plain(labels, fallen)} {three_digits(float(attention[fallen]))} → "
        f"{three_digits(float(weighted[fallen]))}. Most attention: {answer.largest(attention, labels)}. "
        f"Most weight × norm: {answer.largest(weighted, labels)}.",
    )


def _of_head(view: View) -> str:
    """The tokens with most attention and with most norm-weighted attention, of the head's sums over all queries."""
    found, labels, head = layer_shares(view, view.layer), view.trace.labels, view.head
    # A row of attention sums to 1, so its mean over the queries is its share of their sum.
    attention, weighted = found.attention[head], found.norm_weighted[head]
    weighted = weighted / (weighted.sum() or 1.0)
    most, best = int(attention.argmax()), int(weighted.argmax())

    def numbers(token: int) -> str:
        return (
            f"**{token_names.word(labels[token])}** ({token}): {attention[token]:.1%} of all attention, "
            f"{weighted[token]:.1%} of all weight × norm, norm of its vector {three_digits(found.norms[head, token])}."
        )

    text = f"L{view.layer} H{head}, all queries summed. Most attention: {numbers(most)}"
    return text if best == most else f"{text} Most weight × norm: {numbers(best)}"


def show_layers(view: View) -> dict[str, go.Figure]:
    """All layers: the opening token against an average word. Returns the figure by its title."""
    every = maps.each_layer(view.trace, partial(layer_shares, view), "Measuring the layers", SHORT_TEXT)
    here = every[view.layer]
    if here.opening is None or here.on_average_word() is None:
        return {}
    opening = np.array([one.on_opening() for one in every])  # [L, 2]
    word = np.array([one.on_average_word() for one in every])
    name, part = view.trace.labels[here.opening], words_of(view.trace).part
    st.header("Layer by layer", anchor=False)
    figure = shares_by_layer(opening[:, 0], opening[:, 1], word[:, 1], selected=view.layer, opening=name)
    plot(
        figure,
        key="norm-weighted-layers",
        alt=f"Three curves over {len(every)} layers: attention on {name}, its norm-weighted attention, and that of an "
        f"average {part}.",
        height=330,
        on_event=on_click(point=lambda event: state.put(ViewParams.layer, event["point"])),
    )
    references.markdown(_about_layers(opening, word, plain(name), part))
    gestures.caption(gestures.invitation(f"{gestures.CLICK} a point to select its layer."))
    return {"Layer by layer": figure}


def layer_shares(view: View, layer: int) -> norm_weighting.LayerShares:
    """Attention and norm-weighted attention on every token of a layer, kept for all sessions."""
    return view.derived(("layer shares", layer), lambda trace: norm_weighting.layer_shares(trace, layer))


def _about_layers(opening: np.ndarray, word: np.ndarray, name: str, part: str) -> str:
    """The layer with most attention on the opening token, and the sink layers. opening, word [L, 2]; part: its name."""
    peak = int(opening[:, 0].argmax())
    text = f"Most attention on **{name}**: layer {peak}, {opening[peak, 0]:.1%}."
    sinks = (opening[:, 0] > MUCH * word[:, 0]) & (opening[:, 1] < word[:, 1])
    if not sinks.any():
        return text
    layers = ", ".join(map(str, np.flatnonzero(sinks)))
    return (
        f"{text} Layers with over {MUCH} times the attention of an average {part} on it, but **less norm-weighted "
        f"attention than that {part}**: {layers}. This fits an attention sink (Xiao et al. 2023)."
    )
