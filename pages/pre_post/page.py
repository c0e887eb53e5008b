"""Pre/post-norm: one sentence in both placements, head by head, and its residual stream."""

from functools import partial

import streamlit as st

from encoder import causal
from encoder.figures.numbers import three_digits
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.measure.residual_stream import measure, output_agreement
from encoder.model.layers import NORM_NAMES
from pages.components.button import button
from pages.core.frame.frame import heading, show
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams, norm_pair
from pages.core.widgets import norm_parts
from pages.core.words import about, glossary, plain
from pages.pre_post.attention import attention, differs, share_moved
from pages.pre_post.diagrams import diagrams
from pages.pre_post.params import Params
from pages.pre_post.residual_stream import residual_stream
from pages.state import next_page, state


def main(view: View) -> None:
    here = state.newest(Params.sides)
    with heading(title=norm_parts.PARTS[here] if here == "stream" else ""):
        part = norm_parts.choose(Params.sides, here)
    if view.loaded.config.parallel:
        st.info(about.text(__file__, "parallel"), icon=":material/info:")
    else:
        traces = norm_pair.PairTraces(norm_pair.pair_of(view), view.run)
        introduction(traces, part)
        draw = attention if part == "heads" else residual_stream
        draw(view, traces)
        st.caption(what_differs(traces))
        if traces.pair.kind == "rewired":
            button(
                "Show two encoders that were both trained",
                "compare",
                "show-twins",
                partial(state.put, ViewParams.model, norm_pair.PAIRS[0]),
                type="tertiary",
            )
    with st.expander("Where the norms are, and which one is “the Transformer”", icon=":material/help:"):
        diagrams(view.loaded.config.n_layers, NORM_NAMES[view.loaded.config.norm_kind])
        st.markdown(about.text(__file__, "Which one is “the Transformer”"))
    next_page("norms", "What does each LayerNorm do to each token?")


def introduction(traces: norm_pair.PairTraces, part: str) -> None:
    """The question of a part, and its answer in one line."""
    asked, said = answer_of(traces) if part == "heads" else growth(traces)
    glossary.opening(asked)
    with st.container(key="pre-post-answer"):
        st.markdown(said)


def answer_of(traces: norm_pair.PairTraces) -> tuple[str, str]:
    """The question about both sides, and what differs: the heads; of moved norms the output, too."""
    moved = traces.head_differences()
    if traces.pair.kind != "rewired":
        return "What differs between two encoders with another place of the norms?", differs(moved)
    original = original_of(traces)
    asked = f"What changes if the norms of **{plain(traces.name(original))}** move? It was trained with"
    said = f"{share_moved(moved)} {agreement(traces)}"
    return f"{asked} {PLACEMENT_NAMES[original]}.", said


def original_of(traces: norm_pair.PairTraces) -> str:
    """The placement with which a model was trained whose norms the other side has moved."""
    return next(placement for placement, spec in traces.pair.specs.items() if spec.norm == "trained")


def agreement(traces: norm_pair.PairTraces) -> str:
    """How much the outputs of both sides agree: token by token, and in the vector of the whole input, as on Model."""
    tokens = traces.of_both("agreement", output_agreement)
    original = original_of(traces)
    side, moved = traces.of(original), traces.of("post" if original == "pre" else "pre")
    vector, *_ = causal.outcomes_of(side.loaded, side.trace, [moved.trace], causal.SentenceVector())[-1:]
    return (
        f"Cosine of both output vectors: **{three_digits(tokens)}** (mean over tokens), **{three_digits(vector)}** "
        f"({words_of(side.trace).input})."
    )


def growth(traces: norm_pair.PairTraces) -> tuple[str, str]:
    """The question about the residual stream, and its length after the embeddings and after the last layer."""
    found = {p: traces.of_one(p, "stream", measure) for p in norm_pair.PLACEMENTS}
    said = "; ".join(
        f"{PLACEMENT_NAMES[p]}: **{three_digits(one.length[0])}** to **{three_digits(one.length[-1])}**"
        for p, one in found.items()
    )
    asked = "How does the length of the residual stream grow, from the embeddings to the last layer?"
    return asked, f"Length of the residual stream, embeddings to last layer: {said}."


def what_differs(traces: norm_pair.PairTraces) -> str:
    """What the two encoders have in common, and what a difference between them may mean."""
    kind = traces.pair.kind
    if kind == "rewired":
        original = original_of(traces)
        name = plain(traces.name(original))
        return about.text(__file__, "rewired", name=name, placement=PLACEMENT_NAMES[original])
    if kind == "scratch":
        return about.text(__file__, "scratch")
    data = "text" if takes_text(traces) else "images"
    shared = f"Both were trained from the same seed, on the same {data} in the same order."
    if kind == "trained":
        steps = [traces.name(placement).rsplit(", ", 1)[-1] for placement in norm_pair.PLACEMENTS]
        shared = "You trained both from the same seed, on the same sequences."
        if steps[0] != steps[1]:
            shared += f" One took {steps[0]}, the other {steps[1]}."
    names = {placement: plain(traces.name(placement)) for placement in norm_pair.PLACEMENTS}
    return about.text(__file__, "trained", shared=shared, **names)


def takes_text(traces: norm_pair.PairTraces) -> bool:
    """Whether both read text, and not images."""
    return traces.trace("pre").kind == "text"


show(main)
