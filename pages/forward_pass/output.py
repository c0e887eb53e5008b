"""Step 9: the change of each token across layers, one plane, one vector for the sentence, and its similarity."""

import streamlit as st

from encoder import explain
from encoder.explain.output import PoolingKind
from encoder.figures.numbers import three_digits
from encoder.figures.steps import cosines, plane, token_bars
from pages.components import plot
from pages.core.stores import cache
from pages.core.view import selection
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state
from pages.core.words import formulas
from pages.forward_pass.params import Params
from pages.state.url_state import controlled

POOLINGS: dict[PoolingKind, str] = {"cls": "[CLS]", "mean": "mean", "attention": "attention"}
EXPLAINED: dict[PoolingKind, str] = {
    "cls": "The vector of the first token represents the sentence.",
    "mean": "The mean of all token vectors, special tokens included.",
    "attention": "Each token's weight is the attention of the first token to it in the last layer, averaged over "
    "heads. The model was not trained for this.",
}


def show(view: View, params: Params) -> None:
    """Cosines across layers, the plane of all layers, pooling, and the similarity with a second sentence."""
    place = selection.selected_place(view, view.loaded.config.d_model)
    st.markdown(
        "After the last layer, each token has a vector that depends on the whole sentence. The cosine between two "
        "vectors compares their directions: 1 is the same direction, 0 is orthogonal."
    )
    selection.place_bar(view, place, query="Token", component=view.loaded.config.d_model)
    stages = _journey(view, place)
    st.header("All layers in one plane", anchor=False)
    _plane(view, place, stages, params.stage)
    st.header("One vector for the sentence", anchor=False)
    kind = state.segmented(PlaceParams.pooling, "Pooling", POOLINGS)
    _pooling(view, explain.pooled(view.trace, kind, place))
    st.header("Similarity with a second sentence", anchor=False)
    _similarity(view, kind)
    st.header("All steps together", anchor=False)
    _chain(view)


def _journey(view: View, place: explain.Place) -> list[str]:
    """The cosines of every token with its embedding. Returns the names of the stages."""
    journey = explain.journey(view.trace, place)
    pooled = explain.pooled(view.trace, state.get(PlaceParams.pooling), place)
    stages = [stage_name(stage) for stage in journey.stages]
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            cosines(journey.to_start, stages, journey.labels, selected=place.query),
            key="cosines",
            alt="Cosine of every token with its embedding: one row per stage, one column per token.",
            height=180 + 26 * len(stages),
            on_event=selection.on_cell(row=Params.stage, column=ViewParams.i),
        )
        st.caption(
            "Row: stage of the residual stream. Column: token. Mean cosine between different tokens: "
            f"{journey.among[0]:.2f} at the start, {journey.among[-1]:.2f} at the end."
        )
    with right:
        formulas.show_step(journey.formula)
        selection.check_toggle(view, lambda reference: (*journey.check(reference), *pooled.check(reference)))
    return stages


def stage_name(name: str) -> str:
    """A stage of the residual stream as on the screen: "layers.2.after_ffn" -> "after L2"."""
    if name == "output":
        return "after the final norm"
    return name if name == "embedding" else f"after L{name.split('.')[1]}"


def _plane(view: View, place: explain.Place, stages: list[str], asked: int | None) -> None:
    found = view.derived(("plane",), explain.plane)
    stage = _stage_slider(len(stages) - 1, asked)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            plane(found.points, found.explained, found.labels, stage=stage, stages=stages, selected=place.query),
            height=440,
            key="plane",
            alt=f"All tokens, stage {stages[stage]}, on the first two principal components.",
        )
    with right:
        st.markdown(
            f"The token vectors at stage “{stages[stage]}” on the first two principal components of all stages. These "
            f"two directions contain {found.explained.sum():.0%} of the variance, so points that are close here can "
            f"differ in other directions. The line connects all stages of {selection.token(view, place.query)}. "
            "Hover over a point without a label."
        )
        _nearest(view, place, stage)


def _stage_slider(last: int, asked: int | None) -> int:
    """The drawn stage, by default the last one."""
    if asked is not None and asked > last:
        st.warning(f"stage={asked}: this model has stages 0 to {last}. Shown: {last}.", icon=":material/link_off:")
        state.put(Params.stage, None)
        asked = None
    return controlled(
        st.slider, "Stage", 0, last, key="place:stage", value=last if asked is None else asked,
        take=lambda stage: state.put(Params.stage, stage), help="0: the embedding. Drag through the layers.",
    )  # fmt: skip


def _nearest(view: View, place: explain.Place, stage: int) -> None:
    """The tokens with the largest cosine to the selected one."""
    near = explain.nearest(view.trace, place.query, stage)
    if not near:
        return
    st.markdown(
        f"Largest cosines with {selection.token(view, place.query)}, over all {view.loaded.config.d_model} components:"
    )
    st.dataframe(
        {
            "Token": [view.trace.labels[token] for token, _ in near],
            "Position": [token for token, _ in near],
            "Cosine": [cosine for _, cosine in near],
        },
        hide_index=True,
        width="stretch",
        column_config={"Cosine": st.column_config.NumberColumn(format="%.4f")},
    )


def _pooling(view: View, pooled: explain.Pooled) -> None:
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            token_bars({"weight": pooled.weights}, pooled.labels, roles=("other",), token="token"),
            height=230,
            key="pooling-bars",
            alt="The weight of each token in the pooled vector.",
        )
    with right:
        st.markdown(EXPLAINED[pooled.kind])
        if view.model.scratch is None and pooled.kind == view.loaded.pooling:
            st.markdown("`model.embed` uses this pooling for this model.")
        formulas.show_step(pooled.formula)


def _similarity(view: View, kind: PoolingKind) -> None:
    second = state.bound(st.text_input, PlaceParams.second, "Second sentence", help="Press Enter to compare.")
    if not second.strip():
        st.info("Type a second sentence to compare with.")
        return
    step = explain.similarity(view.trace, cache.trace(view.model, second), kind)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        for name, shares, labels in (("first", step.shares_a, step.labels_a), ("second", step.shares_b, step.labels_b)):
            plot(
                token_bars({"share": shares}, labels, roles=("other",), axis="share", token=f"{name} sentence"),
                height=220,
                key=f"shares-{name}",
                alt=f"The share of each token of the {name} sentence in the cosine.",
            )
    with right:
        st.metric("Cosine similarity", formulas.number(step.cosine, 4))
        formulas.show_step(step.formula)
        st.caption(
            f"The cosine is a sum over {step.pairs.size:,} pairs of tokens. A bar is the sum over the pairs of its "
            "token. The bars of each sentence sum to the cosine."
        )
        if state.get(PlaceParams.check):
            in_float64 = cache.derived(view.model, second, None, ("float64",), explain.Recomputation)
            selection.show_checks(step.check(selection.recomputation(view), in_float64))


def _chain(view: View) -> None:
    """Every stage of the residual stream, recomputed, next to the model's."""
    st.markdown(
        "This recomputes all steps in NumPy, from the ids to the output, and compares each stage with the model. It "
        "reads only the ids and the weights. A wrong or missing step would cause a large difference."
    )
    if not st.button("Compute the whole chain", icon=":material/link:", key="chain"):
        return
    with st.spinner("Computing every layer …", show_time=False):
        found = view.derived(("chain",), explain.chain)
    st.dataframe(
        {
            "Stage of the residual stream": list(found.values),
            "Largest difference to the model": [f"{found.difference[name]:.1e}" for name in found.values],
            "Largest number": [three_digits(abs(values).max()) for values in found.values.values()],
        },
        hide_index=True,
        width="stretch",
    )
