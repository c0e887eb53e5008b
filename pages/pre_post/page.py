"""Pre-norm vs post-norm: the same sentence in an encoder of each norm placement."""

from __future__ import annotations

import streamlit as st

from encoder.figures.placements import PLACEMENT_NAMES
from encoder.measure import stream
from pages.core.frame.frame import current_view, heading
from pages.core.view import norm_pair
from pages.core.view.norm_pair import PairTraces
from pages.core.view.view import ViewParams, state
from pages.core.words import glossary
from pages.core.words.formulas import number
from pages.pre_post import recorded
from pages.pre_post.attention import attention
from pages.pre_post.diagrams import diagrams
from pages.pre_post.params import Params
from pages.pre_post.residual_stream import residual_stream
from pages.state.links import next_page

TITLES = {"heads": "Attention", "stream": "Residual stream", "curves": "Recorded training"}
LOOK_FOR = {
    "heads": "Look for heads that attend to other tokens in the other encoder: the bars under the maps measure this.",
    "stream": "Look at the norm of the residual stream: pre-norm adds to it layer by layer, post-norm rescales it.",
}


def main() -> None:
    view = current_view()
    heading()
    traces = PairTraces(norm_pair.pair_of(view), view.text, view.pair)
    opening = st.container()
    diagrams(traces.trace("pre").config.n_layers)
    part = state.segmented(Params.sides, "What to compare", TITLES, label_visibility="collapsed")
    if part == "curves":
        opening.markdown(glossary.linked(recorded.INTRODUCTION))
        recorded.recorded_training()
    else:
        with opening:
            introduction(traces, LOOK_FOR[part])
        draw = attention if part == "heads" else residual_stream
        draw(view, traces)
    which_one()
    next_page("gradients", "Gradients at initialisation, in both placements")


def introduction(traces: PairTraces, look_for: str) -> None:
    """What the page shows, what to look for, and what a difference may mean."""
    glossary.opening(
        f"You see one {'sentence' if takes_text(traces) else 'input'} in **{traces.name('pre')}** with pre-norm "
        f"(teal, circles) and **{traces.name('post')}** with post-norm (orange, squares).  \n{look_for}  \n"
        f"{what_differs(traces)}"
    )
    if traces.pair.kind == "rewired":
        agreement = traces.of_both("agreement", stream.output_agreement)
        st.info(
            f"Mean cosine between the outputs of both sides: **{number(agreement)}** (1: same direction, 0: "
            "orthogonal).",
            icon=":material/science:",
        )
        st.button(
            "Compare two encoders that were both trained", key="choose-twins", icon=":material/compare:",
            on_click=state.put, args=(ViewParams.model, norm_pair.PAIRS[0]),
        )  # fmt: skip


def what_differs(traces: PairTraces) -> str:
    """What the two encoders have in common, and what a difference between them may mean."""
    kind = traces.pair.kind
    if kind == "rewired":
        original = next(p for p, key in traces.pair.keys.items() if key.norm == "trained")
        return (
            f"The model was trained with {PLACEMENT_NAMES[original]}. The other side uses the same weights with the "
            "norms moved, without retraining: this shows how much weights depend on their norms."
        )
    if kind == "scratch":
        return (
            "Both are untrained, with the same random weights; pre-norm adds a final LayerNorm. Every difference comes "
            "from the norms."
        )
    data = "text" if takes_text(traces) else "images"
    shared = f"Both were trained from the same seed, on the same {data} in the same order."
    if kind == "trained":
        steps = [traces.name(placement).rsplit(", ", 1)[-1] for placement in norm_pair.PLACEMENTS]
        shared = "You trained both from the same seed, on the same sequences."
        if steps[0] != steps[1]:
            shared += f" One took {steps[0]}, the other {steps[1]}."
    return (
        f"{shared} They differ in the place of their norms and in pre-norm's final LayerNorm. Each learned its own "
        "heads. This is one seed: a difference may be chance."
    )


def takes_text(traces: PairTraces) -> bool:
    """Whether both read text, and not images."""
    return traces.trace("pre").kind == "text"


def which_one() -> None:
    """The two formulas, and which one is known as the Transformer."""
    with st.expander("Which one is “the Transformer”?", icon=":material/help:"):
        st.markdown(
            "Post-norm: x ← LayerNorm(x + f(x)). Pre-norm: x ← x + f(LayerNorm(x)), with a final LayerNorm at the end. "
            "Here f is attention or the FFN.\n\n"
            "The first Transformer (Vaswani et al. 2017) and BERT are post-norm. Much later code is pre-norm. *The "
            "Annotated Transformer* has both: its text describes LayerNorm(x + Sublayer(x)), and its code computes "
            "x + Sublayer(LayerNorm(x)) (issue 92 of its repository).\n\n"
            "Why it matters is debated. Xiong et al. 2020 argue that post-norm needs a learning-rate warm-up because "
            "its gradients near the output are large at the start. Liu et al. 2020 (*Understanding the Difficulty of "
            "Training Transformers*) find that unbalanced gradients are not the root cause of unstable training."
        )


main()
