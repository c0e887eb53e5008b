"""Positions in the scores: rotated queries and keys, and the number that a head adds for the offset of two tokens."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from encoder import figures
from encoder.measure import positions
from pages.components import on_click, plot
from pages.core.view import View, ViewParams, token_rows
from pages.core.words import about, formulas, gestures, plain, token_names
from pages.positions.encodings import select_position
from pages.state import state

#: Largest offset at which a query and a key are shown.
MOST_APART = 128
OFFSET = "offset j − i, key minus query"


def _curve(
    name: str, places: Iterable[int], values: np.ndarray, unit: str, *, key: str, alt: str, height: int = 340,
    **look: Any,
) -> None:  # fmt: skip
    """Draw values by their distance or offset."""
    curve = pd.DataFrame({"distance": places, "mean": values})
    plot(figures.distance_curve({name: curve}, unit=unit, **look), height=height, key=key, alt=alt)


def rotary(view: View, n_positions: int) -> None:
    """The angles, the dot product of equal vectors by distance, and the selected pair at every offset."""
    config = view.loaded.config
    cos, sin = positions.turns(config, view.layer, n_positions)
    turned = figures.angles(cos, sin)
    st.markdown(angles_in_words(view, turned))
    plot(
        figures.rotary_angles(turned, title=f"Angles in layer {view.layer}", selected=view.i),
        key="angles",
        alt=f"Rotation angle of {cos.shape[1]} pairs of components at {n_positions} positions.",
        on_event=select_position(view),
    )
    base, last = config.rotary_base_of_layer(view.layer), cos.shape[1] - 1
    slowest = base ** (-2 * last / config.d_head)
    st.caption(about.text(
        __file__, "Angles", base=f"{base:,.0f}", width=config.d_head, last=last, slowest=formulas.number(slowest),
        turn=f"{2 * math.pi / slowest:,.0f}",
    ))  # fmt: skip
    products = positions.turned_apart(cos)
    _curve(
        "rotary", range(n_positions), products, "dot product", key="rotary-curve", height=340,
        alt="Dot product of two equal unit vectors by the distance of their positions.",
    )  # fmt: skip
    values = {"product": f"{products[-1]:.2f}", "farthest": n_positions - 1}
    st.caption(about.text(__file__, "Equal vectors by distance", **values))
    pair_by_offset(view, min(n_positions, MOST_APART))


def angles_in_words(view: View, turned: np.ndarray) -> str:
    """The first and the last angle of the selected position. turned [N, pairs]: radians, below 2π."""
    place = view.i or 0
    first, last = (formulas.number(float(turned[place, pair])) for pair in (0, -1))
    return (
        f"Position {place}, {token_names.quoted(view.trace.labels, place)}: pair 0 has angle **{first}**, pair "
        f"{turned.shape[1] - 1} **{last}** radians (full turns left out)."
    )


def pair_by_offset(view: View, farthest: int) -> None:
    """The dot product of the selected query and key, with the key moved to every offset."""
    query, key = token_rows.pair(view)
    offsets, products = positions.turned_products(view.trace, view.layer, view.head, query, key, farthest)
    query_label, key_label = view.trace.labels[query], view.trace.labels[key]
    query_name, key_name = plain(query_label), plain(key_label)
    offset = key - query
    near = positions.turned_products(view.trace, view.layer, view.head, query, key, abs(offset))
    at_offset = {int(one): float(product) for one, product in zip(*near, strict=True)}
    best = int(products.argmax())
    st.header(f":blue[{query_name}] and :red[{key_name}] at every offset", anchor=False)
    _curve(
        "q · k", offsets, products, "q · k", across=OFFSET, key="pair-by-distance",
        alt="Dot product of the selected query and key by their offset.",
        mark=(offset, at_offset[offset], f"{figures.arrow(query_label, key_label)} here"),
    )  # fmt: skip
    st.caption(
        f"L{view.layer} H{view.head}, query {query_name} (token {query}), key {key_name} (token {key}). "
        f"q · k at their offset {signed(offset)}: {formulas.number(at_offset[offset])}; "
        f"at the opposite offset {signed(-offset)}: {formulas.number(at_offset[-offset])}. "
        f"Largest within ±{farthest}: {formulas.number(float(products[best]))} at offset {signed(offsets[best])}."
    )


def signed(offset: int) -> str:
    """An offset with a minus sign instead of a hyphen."""
    return formulas.number(int(offset), 0)


def relative_bias(view: View, farthest: int) -> None:
    """All heads as a map, the selected head as a curve; nothing where the model adds no such number."""
    found = positions.distance_biases(view.loaded.encoder, farthest)
    if found is None:
        return
    offsets, biases = found
    bias = biases[view.head]
    st.header("Added to the scores for the offset", anchor=False)
    heads, head = st.columns(2, gap="medium")
    with heads:
        low, high = int(bias.argmin()), int(bias.argmax())
        st.markdown(
            f"Head {view.head}: largest **{formulas.number(float(bias[high]))}** at offset {signed(offsets[high])}; "
            f"smallest **{formulas.number(float(bias[low]))}** at offset {signed(offsets[low])}; "
            f"at offset 0 **{formulas.number(float(bias[farthest]))}**."
        )
        plot(
            figures.head_biases(biases, offsets, selected=view.head),
            key="biases",
            alt=f"The number that each of {len(biases)} heads adds to a score, by the offset j − i.",
            height=340,
            on_event=on_click(row=lambda head: state.put(ViewParams.head, head)),
        )
        origin = "random" if view.model.scratch is not None else "learned"
        gestures.caption(
            f"One row per head: a {origin} number for each of {view.loaded.config.relative_buckets} buckets of offsets "
            "j − i. Large offsets share a bucket. All layers use the same numbers. "
            f"{gestures.CLICK} a row to select a head."
        )
    with head:
        _curve(
            f"head {view.head}", offsets, bias, "added to the score", across=OFFSET, key="bias",
            alt="The number that the selected head adds to a score, by the offset j − i.",
        )  # fmt: skip
