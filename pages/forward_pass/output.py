"""Step 9: what has become of the tokens and of the sentence."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain
from encoder.figures.steps import cosines, plane, token_bars
from pages.components import plot
from pages.core import cache, formulas, selection
from pages.core.view import View, state

POOLINGS = {"cls": "[CLS]", "mean": "mean", "attention": "attention"}


def show(view: View) -> None:
    """Cosines across layers, the plane of all layers, pooling, and the similarity with a second sentence."""
    config = view.loaded.config
    place = selection.selection(view, config.d_model)
    journey = explain.journey(view.trace, place)
    pooled = explain.pooled(view.trace, state.get("pooling"), place)
    st.markdown(
        "At the end each token has a vector that knows its sentence. How far it has moved from where it started, "
        "layer by layer, is seen in the angle between the two: a cosine of 1 is the same direction, 0 has nothing"
        " in common."
    )
    selection.place_bar(view, place, query="Token", component=config.d_model)
    left, right = st.columns([6, 5], gap="medium")
    stages = [stage_name(stage) for stage in journey.stages]
    with left:
        plot(
            cosines(journey.to_start, stages, journey.labels, selected=place.query),
            key="cosines",
            alt="Cosine of every token with its own embedding, stage by stage.",
            height=180 + 26 * len(stages),
            on_event=partial(selection.take_cell, row="stage", column="i"),
        )
        st.caption(
            "Rows: stages; columns: tokens. Different tokens come closer, too: their mean cosine with each other "
            f"goes from {journey.among[0]:.2f} to {journey.among[-1]:.2f}."
        )
    with right:
        formulas.show_step(journey.formula)
        selection.check(view, lambda reference: (*journey.check(reference), *pooled.check(reference)))
    st.subheader("All layers in one plane", anchor=False)
    _plane(view, place, stages)
    st.subheader("One vector for the sentence", anchor=False)
    kind = state.bound(
        st.segmented_control, "pooling", "Pooling", list(POOLINGS), required=True, format_func=POOLINGS.get
    )
    _pooling(view, explain.pooled(view.trace, kind, place))
    st.subheader("Beside a second sentence", anchor=False)
    _similarity(view, kind)
    st.subheader("From ids to output by these steps alone", anchor=False)
    _chain(view)


def _chain(view: View) -> None:
    """Every stage of the stream by the steps' own arithmetic, beside the model's."""
    st.markdown(
        "All steps strung together, from the ids to the output: nothing is taken from the model but its weights. If a "
        "step were wrong or missing, the numbers below would not be small."
    )
    if not st.button("Compute the whole chain", icon=":material/link:"):
        return
    with st.spinner("Computing every layer by its steps …", show_time=False):
        found = cache.derived(view.model, view.text, view.pair, ("chain",), explain.chain)
    st.dataframe(
        {
            "stage": list(found.values),
            "difference": [f"{found.difference[name]:.1e}" for name in found.values],
            "size": [f"{abs(values).max():.3g}" for values in found.values.values()],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "stage": "Stage of the residual stream",
            "difference": "Largest difference to the model",
            "size": "Largest number there",
        },
    )


def stage_name(name: str) -> str:
    """A stage of the stream as it is shown: "layers.2.after_ffn" -> "after L2"."""
    parts = name.split(".")
    return {"embedding": "embedding", "output": "after the final norm"}.get(name) or f"after L{parts[1]}"


def _plane(view: View, place: explain.Place, stages: list[str]) -> None:
    found = cache.derived(view.model, view.text, view.pair, ("plane",), explain.plane)
    stage = _stage_slider(stages)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.plotly_chart(
            plane(found.points, found.explained, found.labels, stage=stage, stages=stages, selected=place.query),
            height=440,
            key="plane",
            alt=f"All tokens, {stages[stage]}, in the plane of the two strongest principal components.",
        )
    with right:
        i = selection.token(view, place.query)
        st.markdown(
            f"The tokens {_at(stages[stage])}. One plane for all stages: the two directions in which they differ most. "
            f"They hold {found.explained.sum():.0%} of all differences, so points that lie together here may still be "
            f"apart. The line is the way of {i} through all stages. A label that would cover another is left out; "
            "hover over its point."
        )
        _nearest(view, place, stage, stages)


def _stage_slider(stages: list[str]) -> int:
    """The stage that is drawn: the last one as long as none is chosen."""
    last, asked = len(stages) - 1, state.get("stage")
    if asked is not None and asked > last:
        st.warning(f"stage={asked}: this model has stages 0 to {last}. Shown: {last}.", icon=":material/link_off:")
        state.put("stage", None)
    st.session_state["place:stage"] = last if state.get("stage") is None else state.get("stage")
    return st.slider(
        "Stage",
        0,
        last,
        key="place:stage",
        on_change=selection.take,
        args=("stage",),
        help="0: the embedding. Drag to walk through the layers.",
    )


def _at(stage: str) -> str:
    return "as they are embedded" if stage == "embedding" else stage


def _nearest(view: View, place: explain.Place, stage: int, stages: list[str]) -> None:
    """The tokens whose vectors are nearest to the selected one's, in all components."""
    near = explain.nearest(view.trace, place.query, stage)
    if not near:
        return
    st.markdown(f"Nearest to {selection.token(view, place.query)} in all {view.loaded.config.d_model} components:")
    st.dataframe(
        {
            "token": [view.trace.labels[token] for token, _ in near],
            "position": [token for token, _ in near],
            "cosine": [cosine for _, cosine in near],
        },
        hide_index=True,
        width="stretch",
        column_config={
            "token": "Token",
            "position": st.column_config.NumberColumn("Position"),
            "cosine": st.column_config.NumberColumn("Cosine", format="%.4f"),
        },
    )


def _pooling(view: View, pooled: explain.Pooled) -> None:
    words = {
        "cls": "The first token's vector stands for the sentence.",
        "mean": "The mean of all tokens' vectors, special ones included.",
        "attention": "Each token counts as much as the first token attends to it in the last layer, on average "
        "over heads. No weights were trained for that.",
    }
    trained = view.model.scratch is None and pooled.kind == view.loaded.pooling
    own = "`model.embed` takes this one for this model." if trained else ""
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.plotly_chart(
            token_bars({"weight": pooled.weights}, pooled.labels, roles=("other",), token="token"),
            height=230,
            key="pooling-bars",
            alt="How much each token counts in the pooled vector.",
        )
    with right:
        st.markdown(f"{words[pooled.kind]} {own}")
        formulas.show_step(pooled.formula)


def _similarity(view: View, kind: str) -> None:
    second = state.bound(st.text_input, "second", "Second sentence", help="Press Enter to compare.")
    if not second.strip():
        st.info("Type a second sentence to compare with.")
        return
    other = cache.trace(view.model, second)
    step = explain.similarity(view.trace, other, kind)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        for name, shares, labels in (("first", step.shares_a, step.labels_a), ("second", step.shares_b, step.labels_b)):
            st.plotly_chart(
                token_bars({"share": shares}, labels, roles=("other",), axis="share", token=f"{name} sentence"),
                height=220,
                key=f"shares-{name}",
                alt=f"The share of each token of the {name} sentence in the similarity.",
            )
    with right:
        st.metric("Cosine similarity", formulas.number(step.cosine, 4))
        formulas.show_step(step.formula)
        st.caption(
            f"The cosine is a sum over all {step.pairs.size:,} pairs of tokens. Summed by token it says what each one "
            "brings: the bars of either sentence add up to the cosine."
        )
        if state.get("check"):
            in_float64 = cache.derived(view.model, second, None, ("float64",), explain.Recomputation)
            selection.show_checks(step.check(selection.recomputation(view), in_float64))
