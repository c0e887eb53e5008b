"""Step 7: the residual sum and the norm; LayerNorm beside RMSNorm and BatchNorm."""

from __future__ import annotations

from functools import partial

import streamlit as st

from encoder import explain, figures
from encoder.figures.steps import stacked_rows
from pages.components import plot
from pages.core import cache, formulas, selection
from pages.core.view import View, state

KINDS = {"layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm"}


def show(view: View) -> None:
    """Sum and norm of one token in the model's order, then the same numbers through three norms."""
    config = view.loaded.config
    place = selection.selection(view, config.d_model)
    part = state.bound(
        st.segmented_control,
        "part",
        "Around which sublayer",
        ["attention", "ffn"],
        required=True,
        format_func={"attention": "attention", "ffn": "feed-forward"}.get,
    )
    step = explain.add_norm(view.trace, place, part)
    st.markdown(_order(step))
    selection.place_bar(view, place, query="Token", component=config.d_model)
    plot(
        stacked_rows(_rows(step), component=place.component),
        key="norm-rows",
        alt="The vectors around the norm, in the order in which they arise.",
        height=selection.rows_height(len(_rows(step))),
        on_event=partial(selection.take_cell, row=None, column="component"),
    )
    st.caption(_rows_in_words(step))
    left, right = st.columns([1, 1], gap="medium")
    with left:
        formulas.show_step(step.formula)
        selection.check(view, step.check)
    with right:
        if step.norm is None:
            st.info("This layer has no norm around attention: the embedding's own norm stands right before it.")
        else:
            formulas.show_step(step.norm.formula)
            st.caption(
                f"Mean {step.norm.mean:.4f}, variance {step.norm.variance:.4f}, ε = {step.norm.eps:g}. The "
                "variance is the population's: divided by D, not by D − 1."
            )
    if step.norm is not None:
        st.subheader("LayerNorm beside RMSNorm and BatchNorm", anchor=False)
        _three(view, place, step.norm.name)


def _order(step: explain.AddNorm) -> str:
    name = "attention" if step.part == "attention" else "the feed-forward layer"
    if step.norm is None:
        return f"The result of {name} is added to the stream."
    if step.pre_norm:
        return (
            f"**Pre-norm**: the stream is normalised for {name} to read, and its result is added to the stream "
            "itself, which no norm ever touches on its way."
        )
    return (
        f"**Post-norm**: the result of {name} is added to the stream, and the sum is normalised. So every token's "
        "vector starts the next sublayer at about the same size; only the gain and the bias change it."
    )


def _rows_in_words(step: explain.AddNorm) -> str:
    name = "attention" if step.part == "attention" else "FFN"
    return (
        f"From top to bottom in the order of the computation; the row “{name}” is what the sublayer adds. The sum is "
        f"{formulas.number(step.growth, 2)} times as long as the stream before."
        + (
            " In the row “gain, bias” the normalised numbers are times the gain, plus the bias."
            if step.norm is not None
            else ""
        )
    )


def _rows(step: explain.AddNorm) -> dict[str, object]:
    name = "attention" if step.part == "attention" else "FFN"
    norm = {} if step.norm is None else {"normalised": step.norm.normalised, "gain, bias": step.norm.output}
    stream = {"stream": step.before}
    added = {name: step.update, "sum": step.total}
    return stream | (norm | added if step.pre_norm else added | norm)


def _three(view: View, place: explain.Place, name: str) -> None:
    texts = selection.second_texts()
    comparison = cache.derived(
        view.model,
        view.text,
        view.pair,
        ("three norms", name, texts),
        lambda trace: explain.compare_norms([trace, *(cache.trace(view.model, text) for text in texts)], name),
    )
    i = selection.token(view, place.query)
    statistics = {"before": comparison.token_statistics("input")}
    statistics |= {title: comparison.token_statistics(kind) for kind, title in KINDS.items()}
    left, right = st.columns([6, 5], gap="medium")
    with left:
        st.plotly_chart(
            figures.token_statistics(statistics, comparison.labels, selected=place.query),
            height=430,
            key="three-norms",
            alt="Mean and standard deviation of every token before and after the three norms.",
        )
    with right:
        st.markdown(
            f"LayerNorm looks at the {view.loaded.config.d_model} numbers of **one token**: each token comes out "
            "with mean 0 and deviation 1. RMSNorm does the same without taking off the mean. BatchNorm looks at "
            f"**one component over all {len(comparison.labels)} tokens** of the batch, so that a token's size "
            "depends on the others."
        )
        if texts:
            st.markdown(
                f"How far the numbers of the first sentence (with {i}) move when the other {len(texts)} join the batch:"
            )
            st.dataframe(
                {"norm": list(KINDS.values()), "moved": [f"{comparison.apart[kind] or 0:.3g}" for kind in KINDS]},
                hide_index=True,
                width="stretch",
                column_config={"norm": "Norm", "moved": "Largest change"},
            )
        state.bound(st.text_input, "second", "Second sentence of the batch")
        state.bound(st.text_input, "third", "Third sentence of the batch")
