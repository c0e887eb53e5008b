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
from pages.core.words import about, formulas, gestures, plain, references, token_names
from pages.positions.encodings import select_position
from pages.state import state

#: Largest offset at which a query and a key are shown.
MOST_APART = 128
OFFSET = "offset j − i, key minus query"


def _curve(
    name: str,
    places: Iterable[int],
    values: np.ndarray,
    unit: str,
    *,
    key: str,
    alt: str,
    height: int = 340,
    **look: Any,
) -> None:
    """Draw values by their distance or offset."""
    curve = pd.DataFrame({"distance": places, "mean": values})
    plot(figures.distance_curve({name: curve}, unit=unit, **look), height=height, key=key, alt=alt)


def rotary(view: View, n_positions: int) -> None:
    """The angles, the dot product of equal vectors by distance, and the selected pair at every offset."""
    config = view.loaded.config
    cos, sin = positions.turns(view.loaded.encoder, view.layer, n_positions)
    turned = figures.angles(cos, sin)
    st.markdown(angles_in_words(view, turned))
    plot(
        figures.rotary_angles(turned, title=f"Angles in layer {view.layer}", selected=view.i),
        key="angles",
        alt=f"Rotation angle of {cos.shape[1]} pairs of components at {n_positions} positions.",
        on_event=select_position(view),
    )
    if config.rotary_grid:  # no angle follows the order of the tokens
        return
    if config.rotary_table:
        shortest, longest = (formulas.number(float(end)) for end in positions.longer(cos, sin))
        st.caption(about.text(__file__, "Angles of a table", shortest=shortest, longest=longest))
        return
    base, last = config.rotary_base_of_layer(view.layer), cos.shape[1] - 1
    slowest = base ** (-2 * last / config.d_head)
    st.caption(
        about.text(
            __file__,
            "Angles",
            base=f"{base:,.0f}",
            width=config.d_head,
            last=last,
            slowest=formulas.number(slowest),
            turn=f"{2 * math.pi / slowest:,.0f}",
        )
    )
    if config.rotary_input:
        return
    products = positions.turned_apart(cos)
    _curve(
        "rotary",
        range(n_positions),
        products,
        "dot product",
        key="rotary-curve",
        height=340,
        alt="Dot product of two equal unit vectors by the distance of their positions.",
    )
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
        "q · k",
        offsets,
        products,
        "q · k",
        across=OFFSET,
        key="pair-by-distance",
        alt="Dot product of the selected query and key by their offset.",
        mark=(offset, at_offset[offset], f"{figures.arrow(query_label, key_label)} here"),
    )
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
    config = view.loaded.config
    found = positions.distance_biases(view.loaded.encoder, farthest, view.layer)
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
        origin = "random" if view.model.untrained is not None else "learned"
        kind = (
            "One row per head: minus its slope times the distance. Nothing is learned."
            if config.position == "alibi"
            else f"One row per head: a {origin} number for each of {config.relative_buckets} buckets of offsets j − i. "
            "Large offsets share a bucket."
        )
        later = " No query attends to a later key." if config.causal else ""
        later += " A gate of each query multiplies them." if config.relative_gate else ""
        whose = "Each layer has its own numbers." if config.relative_per_layer else "All layers use the same numbers."
        gestures.caption(f"{kind}{later} {whose} {gestures.invitation(f'{gestures.CLICK} a row to select a head.')}")
    with head:
        _curve(
            f"head {view.head}",
            offsets,
            bias,
            "added to the score",
            across=OFFSET,
            key="bias",
            alt="The number that the selected head adds to a score, by the offset j − i.",
        )


def grid_bias(view: View) -> None:
    """The number that the selected head adds for the rows and columns between two patches."""
    biases = positions.grid_biases(view.loaded.encoder, view.layer)
    assert biases is not None
    bias, reach = biases[view.head], biases.shape[1] // 2
    row, column = (int(at) - reach for at in np.unravel_index(bias.argmax(), bias.shape))
    st.header("Added to the scores for rows and columns", anchor=False)
    st.markdown(
        f"L{view.layer} H{view.head}: largest **{formulas.number(float(bias.max()))}** for a key {signed(row)} rows "
        f"and {signed(column)} columns away; for the patch itself **{formulas.number(float(bias[reach, reach]))}**."
    )
    plot(
        figures.offset_map(
            bias,
            title=f"L{view.layer} H{view.head}",
            across="columns, key minus query",
            down="rows, key minus query",
            first=(-reach, -reach),
        ),
        key="grid-bias",
        height=420,
        alt="The number that the selected head adds to a score, by the rows and columns from query to key.",
    )
    st.caption("A learned number for each pair of offsets. Three further numbers belong to [CLS].")


def disentangled(view: View) -> None:
    """The parts of the scores: as maps of the selected head, and by offset for the selected pair."""
    query, key = token_rows.pair(view)
    trace, layer, head = view.trace, view.layer, view.head
    size = min(trace.n_tokens, MOST_APART)
    start = max(0, min(query - size // 2, trace.n_tokens - size))
    part = slice(start, start + size)
    terms = {name: term[:, part] for name, term in positions.score_terms(trace, layer, head, part).items()}
    values = {name: float(term[query - start, min(key - start, size - 1)]) for name, term in terms.items()}
    st.header("The parts of the scores", anchor=False)
    names = " → ".join(token_names.word(trace.labels[at]) for at in (query, key))
    if part.start <= key < part.stop:
        said = " + ".join(f"{name} **{formulas.number(value)}**" for name, value in values.items())
        st.markdown(f"L{layer} H{head}, {names}: {said} = **{formulas.number(sum(values.values()))}**, the score.")
    for column, (name, term) in zip(st.columns(len(terms)), terms.items(), strict=True):
        with column:
            plot(
                figures.offset_map(
                    term,
                    title=name.capitalize(),
                    across="key",
                    down="query",
                    first=(start, start),
                    others=[one for one in terms.values() if one is not term],
                    labels=trace.labels,
                ),
                key=f"terms-{name.replace(' ', '-')}",
                height=340,
                alt=f"{name.capitalize()}: its part of the score of {size} queries and keys.",
            )
    by = {True: "He et al. 2021", False: "Dai et al. 2019"}[trace.config.disentangled is not None]
    by = "Shaw et al. 2018" if trace.config.distance_keys is not None and trace.config.distance_keys.rows else by
    references.caption(f"The maps sum to the scores, before the softmax ({by}). All have the same colours.")
    offsets, curves = positions.terms_by_offset(trace, layer, head, query, key, min(trace.n_tokens, MOST_APART))
    plot(
        figures.distance_curve(
            {name: pd.DataFrame({"distance": offsets, "mean": curve}) for name, curve in curves.items()},
            unit="part of the score",
            across=OFFSET,
        ),
        key="terms-by-offset",
        height=340,
        alt="What the offset of the selected query and key adds to their score, by the offset j − i.",
    )
    st.caption(f"The same query and key ({names}) at every offset. Content to position depends on the query only.")
