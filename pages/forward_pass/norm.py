"""Step 7: the residual sum and the norm; LayerNorm beside RMSNorm and BatchNorm."""

import streamlit as st

from encoder import explain, figures
from encoder.figures.numbers import three_digits
from pages.components import plot
from pages.core.stores import cache
from pages.core.view import selection
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, state
from pages.core.words import formulas
from pages.forward_pass.params import Params
from pages.forward_pass.parts import vector_rows

KINDS = {"layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm"}
SUBLAYERS = {"attention": "attention", "ffn": "FFN"}


def show(view: View, params: Params) -> None:
    """Sum and norm of one token in the order of the model, then the same numbers through three norms."""
    config = view.loaded.config
    place = selection.selected_place(view, config.d_model)
    part = state.segmented(Params.part, "Sublayer", SUBLAYERS)
    step = explain.add_norm(view.trace, place, part)
    name = SUBLAYERS[part]
    st.markdown(_order(step, name))
    selection.place_bar(view, place, query="Token", component=config.d_model)
    vector_rows(_rows(step, name), place, key="norm-rows", alt="The vectors around the norm, in order.")
    st.caption(
        f"From top to bottom in the order of the computation. Row “{name}”: the output of the sublayer. Row “gain, "
        "bias”: the normalised vector times the gain, plus the bias. Norm of the sum: "
        f"{formulas.number(step.growth, 2)} times the norm of the residual stream before it."
    )
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.formula)
        selection.check_toggle(view, step.check)
    with right:
        if step.norm is None:
            st.info("This layer has no norm before attention, since the embedding ends with a norm.")
        else:
            formulas.show_step(step.norm.formula)
            st.caption(
                f"Mean: {step.norm.mean:.4f}. Variance: {step.norm.variance:.4f}, the sum of squares divided by D, not "
                f"by D − 1. ε = {step.norm.eps:g}."
            )
    if step.norm is not None:
        st.header("LayerNorm, RMSNorm and BatchNorm", anchor=False)
        _three_norms(view, place, step.norm.name)


def _order(step: explain.AddNorm, name: str) -> str:
    if step.norm is None:
        return f"The output of {name} is added to the residual stream."
    if step.pre_norm:
        return (
            f"**Pre-norm**: {name} reads the normalised residual stream. Its output is added to the residual stream, "
            "which itself is not normalised."
        )
    return (
        f"**Post-norm**: the output of {name} is added to the residual stream, and the sum is normalised. So the gain "
        "and the bias set the size of the input of the next sublayer."
    )


def _rows(step: explain.AddNorm, name: str) -> dict[str, object]:
    stream, added = {"residual": step.before}, {name: step.update, "sum": step.total}
    if step.norm is None:
        return stream | added
    norm = {"normalised": step.norm.normalised, "gain, bias": step.norm.output}
    return stream | norm | added if step.pre_norm else stream | added | norm


def _three_norms(view: View, place: explain.Place, name: str) -> None:
    texts = selection.second_texts()
    comparison = view.derived(
        ("three norms", name, texts),
        lambda trace: explain.compare_norms([trace, *(cache.trace(view.model, text) for text in texts)], name),
    )
    statistics = {"before": comparison.token_statistics("input")}
    statistics |= {title: comparison.token_statistics(kind) for kind, title in KINDS.items()}
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            figures.token_statistics(statistics, comparison.labels, selected=place.query),
            height=430,
            key="three-norms",
            alt="Mean and standard deviation of every token before and after the three norms.",
        )
    with right:
        st.markdown(
            "**LayerNorm** sets each token's mean to 0 and its standard deviation to 1. **RMSNorm** sets each token's "
            "root mean square to 1 and does not subtract the mean. **BatchNorm** normalises each component over all "
            f"{len(comparison.labels)} tokens of the batch."
        )
        st.caption(
            "BatchNorm uses these batch statistics in training only. In evaluation it uses averages from training, so "
            "other sentences have no effect. All three are shown without gain and bias."
        )
        if texts:
            st.markdown(f"Largest change of the first sentence's numbers when {len(texts)} more join the batch:")
            st.dataframe(
                {
                    "Norm": list(KINDS.values()),
                    "Largest change": [three_digits(comparison.apart[kind] or 0) for kind in KINDS],
                },
                hide_index=True,
                width="stretch",
            )
        state.bound(st.text_input, PlaceParams.second, "Second sentence of the batch")
        state.bound(st.text_input, PlaceParams.third, "Third sentence of the batch")
