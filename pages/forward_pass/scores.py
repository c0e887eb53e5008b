"""Step 4: q_i . k_j term by term, the scale, the mask."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import score_map, token_bars
from pages.components import plot
from pages.core import formulas, selection
from pages.core.view import View, state


def show(view: View) -> None:
    """The map of scores, one of them written out, what the scale and the causal mask do."""
    config = view.loaded.config
    place = selection.selection(view, config.d_head)
    variant = variant_controls(view)
    step = explain.score(view.trace, place, variant)
    i, j = selection.token(view, place.query), selection.token(view, place.key)
    st.markdown(
        f"A score says how well the :red[key of {j}] fits the :blue[query of {i}]: the sum of {config.d_head} "
        "products, one for each component. Divided by √K the scores keep a size that the softmax can work with."
    )
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        draw_scores(view, place, variant)
    with right:
        formulas.show_step(step.formula)
        if not step.visible:
            st.caption(f"The mask hides {j} from {i}: whatever the score, the weight is 0.")
        selection.check(view, step.check)
        two_vectors(view, place)
    st.plotly_chart(
        figures.dot_product_bars(step.q, step.k, scale=step.scale),
        height=260,
        key="score-products",
        alt=f"The {config.d_head} products of the query and the key, and their running sum.",
    )
    st.subheader("Why divide by √K", anchor=False)
    _scaling(view, place)
    st.subheader("Encoder and decoder: who may look at whom", anchor=False)
    _masks(view, place)


def variant_controls(view: View) -> explain.Variant:
    """The switches that this step and the softmax share."""
    with st.container(horizontal=True):
        scaled = state.bound(st.toggle, "scaled", "Divide by √K", help="The model does. Off shows what would happen.")
        causal = state.bound(
            st.toggle,
            "causal",
            "Causal mask",
            help="A decoder's mask: no token sees a later one. The values above and below are recomputed with it; the "
            "model itself is an encoder and runs without."
            if not view.loaded.config.causal
            else "This model has one.",
            disabled=view.loaded.config.causal,
        )
    return _variant(view, scaled, causal)


def variant(view: View) -> explain.Variant:
    """What the switches say."""
    return _variant(view, state.get("scaled"), state.get("causal"))


def _variant(view: View, scaled: bool, causal: bool) -> explain.Variant:
    return explain.Variant(scaled=scaled, causal=True if causal or view.loaded.config.causal else None)


def window(view: View, place: explain.Place) -> tuple[slice, slice]:
    """Queries and keys that are drawn: all of a short text, the surroundings of the selected pair in a long one."""
    return tuple(_around(at, view.trace.n_tokens) for at in (place.query, place.key))  # type: ignore[return-value]


def _around(at: int, n_tokens: int, most: int = 128) -> slice:
    if n_tokens <= most:
        return slice(0, n_tokens)
    start = min(max(0, at - most // 2), n_tokens - most)
    return slice(start, start + most)


def draw_scores(view: View, place: explain.Place, variant: explain.Variant) -> None:
    """The scores of the head as a map; a click selects the pair."""
    rows, columns = window(view, place)
    matrix = explain.score_matrix(view.trace, place, variant, rows)
    plot(
        score_map(
            matrix.scores[:, columns],
            matrix.allowed[:, columns],
            view.trace.labels,
            selected=(place.query, place.key),
            first=(rows.start, columns.start),
        ),
        key="score-map",
        alt=f"Scores of layer {place.layer}, head {place.head}: queries downwards, keys to the right.",
        height=selection.map_height(rows.stop - rows.start),
        on_event=partial(selection.take_cell, row="i", column="j"),
    )
    part = (
        ""
        if rows.stop - rows.start == view.trace.n_tokens
        else f" Drawn: {rows.stop - rows.start} tokens around the pair."
    )
    st.caption("Row: the query that looks. Column: the key that is looked at. Click a cell to see its sum." + part)


def two_vectors(view: View, place: explain.Place) -> None:
    """Buttons to the two vectors that a score or weight is made of."""
    with st.container(horizontal=True):
        for which, token, word in (("q", place.query, "query"), ("k", place.key, "key")):
            st.button(
                f"How the {word} of {selection.token(view, token)} is made",
                key=f"to-{which}",
                icon=":material/arrow_forward:",
                on_click=selection.go,
                args=("qkv",),
                kwargs={"vector": which, "i": place.query, "j": place.key},
            )


def _scaling(view: View, place: explain.Place) -> None:
    effect = explain.scaling_effect(view.trace, place)
    i = selection.token(view, place.query)
    first = _around(place.key, view.trace.n_tokens, 64)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.plotly_chart(
            token_bars(
                {"with 1/√K": effect.weights[0][first], "without": effect.weights[1][first]},
                view.trace.labels,
                roles=("q", "other"),
                chosen=place.key,
                first=first.start,
            ),
            height=300,
            key="scaling-bars",
            alt="The weights of the selected row with and without the scale.",
        )
    with right:
        st.markdown(
            f"Without the scale the scores are {1 / effect.scale:.2f} times as large, and the softmax gives the "
            f"largest **{effect.weights[1].max():.3f}** instead of {effect.weights[0].max():.3f}: the row of {i} has "
            f"the entropy {effect.entropy[1]:.2f} nats instead of {effect.entropy[0]:.2f} (even weights: "
            f"{effect.uniform:.2f})."
        )
        st.dataframe(
            {
                "rows": ["with 1/√K", "without"],
                "entropy": effect.mean_entropy,
                "top": effect.mean_top,
            },
            hide_index=True,
            width="stretch",
            column_config={
                "rows": "All rows of this head",
                "entropy": st.column_config.NumberColumn("Mean entropy, nats", format="%.3f"),
                "top": st.column_config.NumberColumn("Mean largest weight", format="%.3f"),
            },
        )


def _masks(view: View, place: explain.Place) -> None:
    rows, columns = window(view, place)
    sides = (("Encoder: every token sees every token", False), ("Decoder: no token sees a later one", True))
    for column, (title, causal) in zip(st.columns(2), sides, strict=True):
        matrix = explain.score_matrix(view.trace, place, explain.Variant(causal=causal), rows)
        figure = figures.attention_heatmap(
            matrix.weights[:, columns],
            view.trace.labels,
            title=title,
            colours=view.colours,
            selected=(place.query, place.key),
            row_offset=rows.start,
            column_offset=columns.start,
        )
        with column:
            plot(
                figure,
                key=f"mask-{causal}",
                alt=f"Attention weights. {title}.",
                height=selection.map_height(rows.stop - rows.start, most=460),
                on_event=partial(selection.take_cell, row="i", column="j"),
            )
    st.caption(
        "The same queries and keys, two masks. The causal mask empties everything above the diagonal, and each row is "
        "shared out among what is left: that is the one difference between an encoder's attention and a decoder's."
    )
