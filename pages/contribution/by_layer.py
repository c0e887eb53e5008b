"""Attention and norm-weighted attention of whole layers: the opening token against an average word."""

from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder.figures.norm_weighted import shares_by_layer, shares_by_token
from encoder.figures.numbers import three_digits
from encoder.measure import norm_weighted
from encoder.measure.norm_weighted import LayerShares
from pages.components import on_click, plot
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams, selection, small_maps, token_rows
from pages.core.words import gestures, plain, references
from pages.state import state

#: Texts of more tokens get a progress bar.
SHORT_TEXT = 512
#: A layer counts as a sink layer where the opening token has this many times the attention of an average word.
MUCH = 3


def show(view: View) -> dict[str, go.Figure]:
    """All layers, and the selected layer token by token. Returns the figures by their titles."""
    labels = view.trace.labels
    every = small_maps.each_layer(view.trace, partial(shares, view), "Measuring the layers", SHORT_TEXT)
    here, drawn = every[view.layer], {}
    compared = here.on_opening() is not None and here.on_average_word() is not None
    left, right = st.columns(2, gap="medium") if compared else (st.container(), st.container())
    if compared:
        opening = np.array([one.on_opening() for one in every])  # [L, 2]
        word = np.array([one.on_average_word() for one in every])
        name = labels[here.opening]
        with left:
            st.header("Layer by layer", anchor=False)
            drawn["Layer by layer"] = shares_by_layer(
                opening[:, 0], opening[:, 1], word[:, 1], selected=view.layer, opening=name
            )
            plot(
                drawn["Layer by layer"],
                key="norm-weighted-layers",
                alt=f"Three curves over {len(every)} layers: attention on {name}, its norm-weighted attention, and "
                f"that of an average {words_of(view.trace).part}.",
                height=330,
                on_event=on_click(point=lambda event: state.put(ViewParams.layer, event["point"])),
            )
            references.markdown(_about_layers(opening, word, plain(name), words_of(view.trace).part))
    with right:
        st.header(f"Layer {view.layer}, all heads", anchor=False)
        part = token_rows.part(view.trace.n_real, view.j, "moves")
        bars = shares_by_token(
            here.attention_share[part], here.norm_weighted_share[part], labels, first=part.start, selected=view.j
        )
        drawn[f"Layer {view.layer}, all heads"] = bars
        plot(
            bars,
            key="norm-weighted-tokens",
            alt=f"Two bars for each token: its share of the attention of layer {view.layer} and of its norm-weighted "
            "attention.",
            height=330,
            on_event=on_click(
                column=lambda token: state.put(ViewParams.j, token),
                point=lambda event: event["trace"] < 2 and state.put(ViewParams.j, part.start + event["point"]),
                clear=selection.clear,
            ),
        )
        st.markdown(_about_layer(view, here))
    gestures.caption(f"{gestures.CLICK} a point to select its layer, a bar to select its token.")
    return drawn


def shares(view: View, layer: int) -> LayerShares:
    """Attention and norm-weighted attention on every token of a layer, kept for all sessions."""
    return view.derived(("layer shares", layer), lambda trace: norm_weighted.layer_shares(trace, layer))


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


def _about_layer(view: View, here: LayerShares) -> str:
    """The selected layer in numbers."""
    opening, word, words = here.on_opening(), here.on_average_word(), words_of(view.trace)
    if opening is None or here.opening is None:
        return "Inputs of this model do not start with a special token."
    if word is None:
        return f"This {words.text} has no {words.part} to compare the special tokens with."
    text = (
        f"**{plain(view.trace.labels[here.opening])}**, averaged over queries: attention **{opening[0]:.1%}**, "
        f"norm-weighted **{opening[1]:.1%}**. An average {words.part}: attention {word[0]:.1%}, norm-weighted "
        f"{word[1]:.1%}."
    )
    if word[1]:
        text += f" Norm-weighted attention of the two, as a ratio: **{opening[1] / word[1]:.2f}**"
        if opening[0]:
            text += f"; per unit of attention: {three_digits(opening[1] / opening[0] / (word[1] / word[0]))}"
        text += "."
    return text
