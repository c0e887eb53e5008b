"""Step 4: q_i . k_j term by term, the scale, the mask."""

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import score_map, token_bars
from pages.components import plot
from pages.core.view import selection
from pages.core.view.view import View, ViewParams, state
from pages.core.words import formulas, gestures
from pages.forward_pass.params import Params
from pages.forward_pass.parts import animated, attention_map, pair, step_button

#: Tokens of a long text in a map.
DRAWN_TOKENS = 128


def show(view: View, params: Params) -> None:
    """The map of scores, the selected score with its terms, the effects of the scale and of the causal mask."""
    config = view.loaded.config
    place = selection.selected_place(view, config.d_head)
    model_step = explain.score(view.trace, place)
    i, j = selection.token(view, place.query), selection.token(view, place.key)
    st.markdown(
        f"A score tells how well the :red[key of {j}] matches the :blue[query of {i}]. It is their dot product, a sum "
        f"of {config.d_head} terms, divided by √K. K is the width of a head; Vaswani et al. (2017) write d_k."
    )
    if animated(view, "start", model_step.check):
        return
    variant = variant_controls(view)
    step = explain.score(view.trace, place, variant)
    selection.place_bar(view, place, query="Token i (query)", key="Token j (key)")
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _score_map(view, place, variant)
    with right:
        formulas.show_step(step.formula)
        if not step.visible:
            st.caption(f"The mask hides {j} from {i}, so the weight is 0 for any score.")
        selection.check_toggle(view, step.check)
        vector_buttons(view, place)
    plot(
        figures.dot_product_bars(step.q, step.k, scale=step.scale),
        height=260,
        key="score-products",
        alt=f"The {config.d_head} products of query and key, and their running sum.",
    )
    st.header("Why divide by √K", anchor=False)
    _scaling(view, place)
    st.header("The causal mask of a decoder", anchor=False)
    _masks(view, place)


def variant_controls(view: View) -> explain.Variant:
    """The toggles that this step and the softmax share."""
    always_causal = view.loaded.config.causal
    causal_help = "A decoder's mask: no token attends to a later one. This page recomputes the weights with it."
    with st.container(horizontal=True):
        state.bound(
            st.toggle, Params.scaled, "Divide by √K", help="The model divides. Off shows the scores without it."
        )
        state.bound(
            st.toggle, Params.causal, "Causal mask", disabled=always_causal,
            help="This model has a causal mask." if always_causal else causal_help,
        )  # fmt: skip
    return selected_variant(view, state.read(Params))


def selected_variant(view: View, params: Params) -> explain.Variant:
    """The variant that the toggles select."""
    return explain.Variant(
        scaled=params.scaled, causal=True if params.causal or view.loaded.config.causal else None
    )  # fmt: skip


def drawn_pair(view: View, place: explain.Place) -> tuple[slice, slice]:
    """Queries and keys of a map: all tokens of a short text, the tokens around the selected pair in a long one."""
    n_tokens = view.trace.n_tokens
    return _around(place.query, n_tokens, DRAWN_TOKENS), _around(place.key, n_tokens, DRAWN_TOKENS)


def _around(position: int, n_tokens: int, most: int) -> slice:
    if n_tokens <= most:
        return slice(0, n_tokens)
    start = min(max(0, position - most // 2), n_tokens - most)
    return slice(start, start + most)


def _score_map(view: View, place: explain.Place, variant: explain.Variant) -> None:
    rows, columns = drawn_pair(view, place)
    matrix = explain.score_matrix(view.trace, place, variant, rows)
    count = rows.stop - rows.start
    plot(
        score_map(
            matrix.scores[:, columns], matrix.allowed[:, columns], view.trace.labels,
            selected=(place.query, place.key), first=(rows.start, columns.start),
        ),
        key="score-map",
        alt=f"Scores of layer {place.layer}, head {place.head}: one row per query, one column per key.",
        height=selection.map_height(count),
        on_event=selection.on_cell(row=ViewParams.i, column=ViewParams.j),
    )  # fmt: skip
    part = "" if count == view.trace.n_tokens else f" Drawn: {count} tokens around the pair."
    gestures.caption(f"Row: query. Column: key. {gestures.CLICK} a cell to select its pair.{part}")


def vector_buttons(view: View, place: explain.Place) -> None:
    """Buttons to the query and the key of the selected pair."""
    with st.container(horizontal=True):
        for which, position, name in (("q", place.query, "query"), ("k", place.key, "key")):
            label = f"How the {name} of {selection.token(view, position)} is computed"
            step_button(label, "qkv", pair(place) | {Params.vector: which}, key=f"to-{which}")


def _scaling(view: View, place: explain.Place) -> None:
    effect = explain.scaling_effect(view.trace, place)
    i = selection.token(view, place.query)
    keys = _around(place.key, view.trace.n_tokens, 64)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            token_bars(
                {"with 1/√K": effect.weights[0][keys], "without": effect.weights[1][keys]},
                view.trace.labels, roles=("q", "other"), chosen=place.key, first=keys.start,
            ),
            height=300,
            key="scaling-bars",
            alt="The weights of the selected row with and without the scale.",
        )  # fmt: skip
    with right:
        st.markdown(
            f"Without the scale, the scores are {1 / effect.scale:.2f} times as large. In the row of {i}, the largest "
            f"weight is then **{effect.weights[1].max():.3f}** instead of {effect.weights[0].max():.3f}. Entropy: "
            f"{effect.entropy[1]:.2f} nats instead of {effect.entropy[0]:.2f}; uniform attention: {effect.uniform:.2f}."
        )
        st.dataframe(
            {
                "All rows of this head": ["with 1/√K", "without"],
                "Mean entropy, nats": effect.mean_entropy,
                "Mean largest weight": effect.mean_top,
            },
            hide_index=True,
            width="stretch",
            column_config={
                name: st.column_config.NumberColumn(format="%.3f")
                for name in ("Mean entropy, nats", "Mean largest weight")
            },
        )


def _masks(view: View, place: explain.Place) -> None:
    rows, columns = drawn_pair(view, place)
    sides = (
        ("Bidirectional: each token attends to all tokens", False),
        ("Causal: no token attends to later ones", True),
    )
    for column, (title, causal) in zip(st.columns(2), sides, strict=True):
        matrix = explain.score_matrix(view.trace, place, explain.Variant(causal=causal), rows)
        with column:
            attention_map(view, place, matrix.weights, rows, columns, key=f"mask-{causal}", title=title)
    st.caption(
        "Both maps use the same queries and keys. The causal mask removes all weights above the diagonal, and the "
        "softmax of each row covers the remaining keys. Decoders can differ in more: cross-attention, training "
        "objective, generation token by token."
    )
