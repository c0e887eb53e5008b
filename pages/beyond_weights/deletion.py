"""Is this an explanation? The caveat, and a test on the sentence at hand: hide what attention favours, or anything."""

from __future__ import annotations

import plotly.graph_objects as go
import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.deletion import deletion_curves
from encoder.figures.numbers import three_digits
from encoder.measure.deletion import LONGEST, Deletion, deletion_test
from pages.components import plot
from pages.core import cache, token_names
from pages.core.view import View, state

#: Up to this many tokens the test runs by itself.
AT_ONCE = 128
SCOPES = {"model": "in the whole model", "layer": "in this layer", "head": "in this head"}
AMONG = {"words": "words only", "all": "special tokens, too"}
SEEDS = tuple(range(8))


def show(view: View) -> tuple[Deletion, go.Figure] | None:
    """The whole part of the page. Gives the test and its picture; None where it was not run."""
    st.markdown(
        "A weight says where a head looks. Whether that explains what the model makes of the sentence is "
        "disputed. Jain and Wallace (2019) found that quite other weights often lead to the same prediction. "
        "Wiegreffe and Pinter (2019) answered that such weights must be ones that a trained model could have, and"
        " that it depends on what is asked of an explanation. So do not take it on trust: test it."
    )
    _controls()
    st.markdown(
        f"**The test.** Hide the *k* tokens that **L{view.layer} H{view.head}** attends to most "
        f"({SCOPES[state.get('hide')]}, {AMONG[state.get('among')]}), or *k* random ones, and see how far the "
        "sentence embedding moves: 1 − cosine. If the weights told what matters, the blue curve would lie above "
        "the grey one."
    )
    try:
        found = _run(view)
    except EncoderError as error:
        st.info(str(error), icon=":material/info:")
        return None
    if found is None:
        return None
    figure = deletion_curves(found.counts, found.by_attention, found.by_moved, found.random)
    plot(
        figure,
        key="deletion",
        alt="Change of the sentence embedding over the number of hidden tokens: the most attended, those that move "
        "most, and random ones.",
        height=380,
    )
    st.markdown(_verdict(view, found))
    st.caption(_what_was_done(view))
    return found, figure


def _controls() -> None:
    with st.container(horizontal=True, gap="medium"):
        state.bound(
            st.segmented_control, "hide", "Hidden", list(SCOPES), required=True, format_func=SCOPES.get,
            help="Hidden means: no query of these heads may attend to the token. Its own vector stays.",
        )  # fmt: skip
        state.bound(
            st.segmented_control, "among", "Among", list(AMONG), required=True, format_func=AMONG.get,
            help="Sinks like [CLS] take most of the attention of many heads, and hiding one pushes its attention onto "
            "all other tokens.",
        )  # fmt: skip


def _run(view: View) -> Deletion | None:
    """The test, kept for all sessions; of a longer text on request."""
    scope, among = state.get("hide"), state.get("among")
    layer, head, n_tokens = view.layer, view.head, view.trace.n_tokens
    wanted = ("deletion asked", view.model, view.text, view.pair)
    if AT_ONCE < n_tokens <= LONGEST and not st.session_state.get(str(wanted)):
        st.info(f"This text is {n_tokens:,} tokens: the test runs it some dozens of times, which takes a while.")
        if not st.button("Run the test", icon=":material/play_arrow:", type="primary"):
            return None
        st.session_state[str(wanted)] = True
    bar = st.progress(0.0, "Hiding tokens …")

    def make(trace) -> Deletion:
        return deletion_test(
            view.loaded, trace, layer, head, seeds=SEEDS, scope=scope, candidates=among,
            progress=lambda share: bar.progress(share, "Hiding tokens …"),
        )  # fmt: skip

    try:
        return cache.derived(view.model, view.text, view.pair, ("deletion", layer, head, scope, among), make)
    finally:
        bar.empty()


def _verdict(view: View, found: Deletion) -> str:
    """What the curves say, with their numbers."""
    labels = view.trace.labels
    more = int((found.by_attention > found.random.mean(axis=0)).sum())
    most = len(found.counts)
    beaten = int((found.random[:, 0] >= found.by_attention[0]).sum())
    names, moved = (
        ", ".join(token_names.quoted(labels, token) for token in order[:4])
        for order in (found.order, found.moved_order)
    )
    text = (
        f"Hiding {token_names.bold(labels, found.order[0])}, the most attended, changes the embedding by "
        f"**{three_digits(float(found.by_attention[0]))}**; one random token by "
        f"{three_digits(float(found.random[:, 0].mean()))} on average, and in {beaten} of {len(found.random)} draws by "
        f"as much or more. The most attended change it more than random ones for {more} of {most} values of *k*"
    )
    if more == most:
        text += ": here the weights do point at tokens that matter. "
    elif more == 0:
        text += ": here the weights do not point at what matters most. "
    else:
        text += ": the answer depends on how many are hidden. "
    return text + f"Most attended: {names}. Those that move most (attention × length): {moved}."


def _what_was_done(view: View) -> str:
    hidden = {
        "model": "in all heads of all layers",
        "layer": f"in all heads of layer {view.layer}",
        "head": f"in L{view.layer} H{view.head} alone",
    }[state.get("hide")]
    among = (
        " Special tokens are never hidden."
        if state.get("among") == "words"
        else (
            " A sink that is hidden changes much even where it brings little: its attention goes to all other "
            "tokens, which then bring more."
        )
    )
    return (
        f"Nobody attends to a hidden token {hidden}; its own output still counts in the pooling. The band spans "
        f"{len(SEEDS)} random draws, the same ones for every head." + among
    )
