"""What the weight moves: attention beside the length of what it fetches, for a head, a layer and all layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import figures
from encoder.figures.moved import moved_heatmap, shares_by_layer, shares_by_token
from encoder.map_pooling import pooling_block
from encoder.measure import norm_weighted, ranking
from encoder.measure.norm_weighted import LayerShares
from pages.components import plot, plot_window
from pages.core import cache, formulas, map_window, selection, sidebar, token_names, token_rows
from pages.core.view import View, state

#: Up to this many tokens a map is drawn cell by cell; above, in blocks until zoomed in.
EXACT_TOKENS = map_window.EXACT_TOKENS
#: Beyond this many tokens all layers take seconds, and progress is shown.
SHORT_TEXT = 512
RULE = (
    r"\alpha_{ij}\,\lVert f(x_j)\rVert,\qquad f(x) = (x\,W^V + b^V)\,W^O,\qquad "
    r"\sum_j \alpha_{ij}\, f(x_j) = \text{what the head adds to token } i"
)


def show(view: View) -> dict[str, go.Figure]:
    """The whole part of the page: all layers, one layer, one head, one query. Gives its pictures by their titles."""
    st.markdown(
        "A weight says how much a token is looked at. What arrives also depends on how long the vector is that is "
        "fetched there: weight × length is what attention really moves (Kobayashi et al. 2020)."
    )
    drawn = _layers(view)
    st.subheader(f"L{view.layer} H{view.head}, weight by weight", anchor=False)
    _controls()
    drawn |= _maps(view)
    st.caption(_of_head(view))
    _of_token(view)
    with st.expander("The formula"):
        formulas.show(RULE)
        st.markdown(
            "The length of $f(x_j)$ depends on the token $j$ alone, not on who looks. The bias of the values is part "
            "of it; the bias of $W^O$ comes from no token and is left out."
        )
    return drawn


def _controls() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        state.bound(
            st.segmented_control,
            "moved",
            "Right map",
            ["share", "length"],
            required=True,
            format_func={"share": "shares of a row", "length": "lengths"}.get,
            help="Shares: each row is divided by its sum, so both maps have rows of sum 1 and the same colours. "
            "Lengths: the numbers themselves.",
        )
        state.bound(st.segmented_control, "scale", "Colour", ["linear", "log"], required=True)
        state.bound(
            st.segmented_control,
            "range",
            "Range",
            ["fixed", "head"],
            required=True,
            format_func={"fixed": "0 to 1", "head": "this map"}.get,
            help="0 to 1 makes heads comparable; lengths then go up to the longest vector that any head of the layer "
            "fetches. This map: up to its own largest number.",
        )


def _maps(view: View) -> dict[str, go.Figure]:
    """Both maps; a click in either selects a query and a key."""
    trace = view.trace
    kind, drawn = state.get("moved"), {}
    for column, name in zip(st.columns(2, gap="small"), ("attention", kind), strict=True):
        key = f"moves-{name}"
        figure, block = _map(view, name, key)
        what = (
            "Attention"
            if name == "attention"
            else "What attention moves, as " + ("shares of a row" if name == "share" else "lengths")
        )
        drawn[f"{what}, L{view.layer} H{view.head}"] = figure
        with column:
            plot(
                figure,
                key=key,
                alt=f"{what}, layer {view.layer}, head {view.head}: {trace.n_tokens} query tokens downwards, as many "
                "key tokens to the right.",
                height=430,
                selected=(view.i, view.j),
                on_event=lambda event, block=block: sidebar.select_from(event, block),
            )
    if trace.n_tokens > EXACT_TOKENS:
        st.caption(
            f"{trace.n_tokens:,} tokens: a cell stands for several, and shows the largest number among them. Drag "
            "over a part of a map to zoom in, down to single tokens."
        )
    return drawn


def _map(view: View, name: str, key: str) -> tuple[go.Figure, int]:
    """One of the two maps, exact or pooled around its zoom window, and how many tokens a cell stands for."""
    trace, layer, head = view.trace, view.layer, view.head
    window = trace.n_tokens > EXACT_TOKENS
    queries, keys = map_window.zoomed(plot_window(key) if window else None, trace.n_tokens)
    block = pooling_block(max(queries.stop - queries.start, keys.stop - keys.start), EXACT_TOKENS)
    place = {"row_offset": queries.start, "column_offset": keys.start, "block": block} if window else {}
    look = {"log": state.get("scale") == "log", "colours": view.colours, "selected": (view.i, view.j), **place}
    own = state.get("range") == "head"
    if name == "attention":
        values = trace.pooled_attention(layer, head, EXACT_TOKENS, queries, keys)
        draw = figures.attention_window if window else figures.attention_heatmap
        return draw(values.cpu(), trace.labels, scale="head" if own else "fixed", **look), block
    values = norm_weighted.pooled_norm_weighted(
        trace, layer, head, shares=name == "share", size=EXACT_TOKENS, queries=queries, keys=keys
    )
    if own:
        largest = float(values.max())
    else:
        largest = 1.0 if name == "share" else float(norm_weighted.value_norms(trace, layer).max())
    return moved_heatmap(values.cpu(), trace.labels, name, largest=largest, window=window, **look), block


def shares(view: View, layer: int) -> LayerShares:
    """What every token gets and brings in one layer, kept for all sessions."""
    return cache.derived(
        view.model,
        view.text,
        view.pair,
        ("layer shares", layer),
        lambda trace: norm_weighted.layer_shares(trace, layer),
    )


def all_shares(view: View) -> list[LayerShares]:
    """The same of every layer; with progress where the text is long."""
    n_layers, long = view.trace.config.n_layers, view.trace.n_tokens > SHORT_TEXT
    bar = st.progress(0.0, "Weighing the layers …") if long else None
    found = []
    for layer in range(n_layers):
        if bar is not None:
            bar.progress(layer / n_layers, f"Weighing layer {layer} of 0 to {n_layers - 1} …")
        found.append(shares(view, layer))
    if bar is not None:
        bar.empty()
    return found


def _of_head(view: View) -> str:
    """The head in numbers: who is looked at most, and who brings most."""
    found, labels, head = shares(view, view.layer), view.trace.labels, view.head
    looked, brings = found.attention[head], found.moved[head]
    most, best = int(looked.argmax()), int(brings.argmax())
    total = float(brings.sum()) or 1.0
    text = (
        f"In L{view.layer} H{head}, averaged over queries, **{_token(labels, most)}** ({most}) is looked at most, "
        f"with {looked[most]:.1%} of the attention; it brings {brings[most] / total:.1%} of what is moved."
    )
    if best != most:
        text += (
            f" Most is brought by **{_token(labels, best)}** ({best}): {brings[best] / total:.1%}, with "
            f"{looked[best]:.1%} of the attention. Its vector has length {found.norms[head, best]:.3g}, that of "
            f"{_token(labels, most)} {found.norms[head, most]:.3g}."
        )
    return text


def _of_token(view: View) -> None:
    """The selected query: from whom it gets what, both ways of weighing."""
    if view.i is None:
        st.caption("Click a row to see from whom a token gets what.")
        return
    trace, row = view.trace, slice(view.i, view.i + 1)
    weights = trace.attention(view.layer, view.head, row)[0]
    moved = norm_weighted.moved_shares(trace, view.layer, view.head, row)[0]
    lengths = norm_weighted.norm_weighted(trace, view.layer, view.head, row)[0]
    places = [place for place, _ in ranking.strongest(moved, 6)]
    places += [place for place, _ in ranking.strongest(weights, 2) if place not in places]
    st.markdown(f"What **{_token(trace.labels, view.i)}** (token {view.i}) gets, from whom most comes first:")
    share = st.column_config.ProgressColumn
    names = [figures.isolated(name) for name in figures.disambiguate(trace.labels)]
    bar = {"min_value": 0.0, "max_value": 1.0, "format": "%.3f", "width": 92}
    st.dataframe(
        {
            "token": [names[place] for place in places],
            "position": places,
            "attention": [float(weights[place]) for place in places],
            "moved": [float(moved[place]) for place in places],
            "length": [float(lengths[place]) for place in places],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "token": st.column_config.TextColumn("Token", width=88, help="With its position where it stands twice."),
            "position": None,  # the token's name says it, and a telephone has room for four columns
            "attention": share("Attention", help="The weight α.", **bar),
            "moved": share("Moved", help="Its share of what is moved.", **bar),
            "length": st.column_config.NumberColumn("Length", format="%.4f", width=76, help="α‖f(x)‖"),
        },
    )


def _layers(view: View) -> dict[str, go.Figure]:
    """The opening token against an average word: all layers, and this layer token by token."""
    labels, found = view.trace.labels, all_shares(view)
    here, drawn = found[view.layer], {}
    compared = here.on_opening() is not None and here.on_average_word() is not None
    left, right = st.columns(2, gap="medium") if compared else (st.container(), st.container())
    if compared:
        name = sidebar.plain(labels[here.opening])
        opening = np.array([one.on_opening() for one in found])  # [L, 2]
        word = np.array([one.on_average_word() for one in found])
        with left:
            st.subheader("Layer by layer", anchor=False)
            drawn["Layer by layer"] = shares_by_layer(
                opening[:, 0], opening[:, 1], word[:, 1], selected=view.layer, opening=labels[here.opening]
            )
            plot(
                drawn["Layer by layer"],
                key="moves-layers",
                alt=f"Three curves over {len(found)} layers: the attention on {labels[here.opening]}, what it moves, "
                "and what an average word moves.",
                height=330,
                on_event=_take_layer,
            )
            st.markdown(_all_layers_sentence(opening, word, name))
    with right:
        st.subheader(f"Layer {view.layer}, all heads", anchor=False)
        part = token_rows.part(view.trace.n_real, view.j, "moves")
        bars = shares_by_token(
            here.attention_share[part], here.moved_share[part], labels, first=part.start, selected=view.j
        )
        drawn[f"Layer {view.layer}, all heads"] = bars
        plot(
            bars,
            key="moves-tokens",
            alt=f"Two bars for each token: its share of the attention of layer {view.layer} and of what is moved.",
            height=330,
            on_event=lambda event: _take_token(event, part.start),
        )
        st.markdown(_layer_sentence(view, here))
    st.caption("Click a point to look at its layer, a bar to select its token.")
    return drawn


def _layer_sentence(view: View, here: LayerShares) -> str:
    opening, word = here.on_opening(), here.on_average_word()
    if opening is None:
        return "This tokenizer opens no text with a special token, so there is no sink of that kind to weigh."
    if word is None:
        return "Nothing is typed, so there is no word to compare the special tokens with."
    name = sidebar.plain(view.trace.labels[here.opening])
    compared = "**less than one average word**" if opening[1] < word[1] else "more than one average word"
    return (
        f"All heads of layer {view.layer} together, averaged over queries: **{name}** takes **{opening[0]:.1%}** of "
        f"the attention and brings **{opening[1]:.1%}** of what is moved. An average word takes {word[0]:.1%} and "
        f"brings {word[1]:.1%}: {name} brings {compared} ({opening[1] / word[1]:.2f} times as much). Weight for weight "
        f"that is **{_for_weight(opening, word):.2g}** of what a word brings."
    )


def _for_weight(opening: Sequence[float], word: Sequence[float]) -> float:
    """What the opening token brings for its weight, as a share of what an average word brings for its own."""
    return opening[1] / opening[0] / (word[1] / word[0]) if opening[0] and word[1] else 0.0


def _all_layers_sentence(opening: np.ndarray, word: np.ndarray, name: str) -> str:
    """In which layers the opening token is looked at much and brings little. opening, word [L, 2]."""
    peak = int(opening[:, 0].argmax())
    text = f"{name} takes most in layer {peak}: {opening[peak, 0]:.1%} of the attention."
    much = [layer for layer in range(len(opening)) if opening[layer, 0] > 3 * word[layer, 0]]
    sinks = [layer for layer in much if _for_weight(opening[layer], word[layer]) < 0.5]
    if not sinks:
        return text
    text += (
        f" In layer{'s' * (len(sinks) > 1)} {_listed(sinks)} it takes {_span(opening[sinks, 0])} and brings only "
        f"{_span(opening[sinks, 1])} of what is moved"
    )
    less = [layer for layer in sinks if opening[layer, 1] < word[layer, 1]]
    if less == sinks:
        text += f", **less than one average word** ({_span(word[sinks, 1])})"
    elif less:
        text += f", in layer{'s' * (len(less) > 1)} {_listed(less)} less than one average word"
    return text + ": a place to look when there is nothing to fetch."


def _span(shares: np.ndarray) -> str:
    low, high = f"{shares.min():.1%}", f"{shares.max():.1%}"
    return low if low == high else f"{low} to {high}"


def _listed(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers[:-1])) + (" and " if len(numbers) > 1 else "") + str(numbers[-1])


def _take_token(event: dict, first: int) -> None:
    if event.get("event") != "click":
        return
    if event["axis"] == "clear":
        sidebar.select(None, None)
    elif event["axis"] == "point" and event["trace"] < 2:
        state.put("j", first + event["point"])
    elif event["axis"] == "x":
        state.put("j", event["j"])


def _take_layer(event: dict) -> None:
    if event.get("event") == "click" and event["axis"] == "point":
        selection.put(layer=event["point"])


def _token(labels: tuple[str, ...], position: int) -> str:
    return token_names.word(labels[position])
