"""Does attention explain? A deletion test on the current sentence: hide the most attended tokens, or random ones."""

import plotly.graph_objects as go
import streamlit as st

from encoder.errors import EncoderError
from encoder.figures.deletion import deletion_curves
from encoder.figures.numbers import three_digits
from encoder.measure.deletion import LONGEST, Deletion, deletion_test
from encoder.trace import Trace
from pages.beyond_weights.params import Params
from pages.components import plot
from pages.core import token_names
from pages.core.glossary import opening
from pages.core.markdown import say_error
from pages.core.view import View, state

#: Up to this many tokens the test runs without being asked.
AT_ONCE = 128
SCOPES = {"model": "In the whole model", "layer": "In this layer", "head": "In this head"}
CANDIDATES = {"words": "Words only", "all": "Special tokens, too"}
SEEDS = tuple(range(8))


def show(view: View) -> tuple[Deletion, go.Figure] | None:
    """The whole part of the page. Returns the test and its figure; None where it did not run."""
    opening(
        "You see a test: hide the *k* tokens that this head attends to most, or *k* random ones, from the heads chosen "
        "below.  \n"
        "Above the grey band, hiding these tokens changes the embedding more than every random draw.  \n"
        "Whether attention explains a model is disputed; this test is one piece of evidence, for one sentence."
    )
    _controls()
    params = state.read(Params)
    try:
        found = _run(view, params)
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
        return None
    if found is None:
        return None
    figure = deletion_curves(found.counts, found.by_attention, found.by_norm_weighted, found.random)
    plot(
        figure,
        key="deletion",
        alt="Change of the sentence embedding over the number of hidden tokens: the most attended, those with most "
        "norm-weighted attention, and random ones.",
        height=380,
    )
    st.markdown(_result(view, found))
    st.caption(
        f"Limits: one sentence and {len(SEEDS)} random draws show a tendency, not a proof. Hiding a token also moves "
        "its attention to all others."
    )
    with st.expander("How the test works, and the debate"):
        st.markdown(_method(view, params))
    return found, figure


def _controls() -> None:
    with st.container(horizontal=True, gap="medium"):
        state.segmented(
            Params.scope, "Hidden", SCOPES,
            help="Hidden: no query of these heads may attend to the token. Its own vector stays.",
        )  # fmt: skip
        state.segmented(
            Params.candidates, "Among", CANDIDATES,
            help="In many heads special tokens such as [CLS] receive much attention. Hiding one moves that attention "
            "to all other tokens.",
        )  # fmt: skip


def _run(view: View, params: Params) -> Deletion | None:
    """The test, kept for all sessions; for a longer text on request."""
    layer, head, n_tokens = view.layer, view.head, view.trace.n_tokens
    asked = str(("deletion asked", view.model, view.text, view.pair))
    if AT_ONCE < n_tokens <= LONGEST and not st.session_state.get(asked):
        st.info(f"This text is {n_tokens:,} tokens. The test runs the model dozens of times, which takes a while.")
        if not st.button("Run the test", icon=":material/play_arrow:", type="primary", key="deletion:run"):
            return None
        st.session_state[asked] = True
    bar = st.progress(0.0, "Hiding tokens …")

    def make(trace: Trace) -> Deletion:
        return deletion_test(
            view.loaded, trace, layer, head, seeds=SEEDS, scope=params.scope, candidates=params.candidates,
            progress=lambda share: bar.progress(share, "Hiding tokens …"),
        )  # type: ignore[arg-type]  # fmt: skip

    what = ("deletion", layer, head, params.scope, params.candidates)
    try:
        return view.derived(what, make)
    finally:
        bar.empty()


def _result(view: View, found: Deletion) -> str:
    """Where the most attended tokens lie against the random ones, in numbers."""
    labels, random = view.trace.labels, found.random[:, 0]
    above, inside, below = found.against_random()
    orders = [
        ", ".join(token_names.quoted(labels, token) for token in order[:4])
        for order in (found.order, found.norm_weighted_order)
    ]
    return (
        f"In this sentence, the most attended tokens lie **above the random range for {above} of {len(found.counts)} "
        f"values of *k***, inside it for {inside}, below it for {below}.  \n"
        f"Change when {token_names.bold(labels, found.order[0])} is hidden, the most attended: "
        f"**{three_digits(float(found.by_attention[0]))}**. One random token: "
        f"{three_digits(float(random.min()))} to {three_digits(float(random.max()))}, mean "
        f"{three_digits(float(random.mean()))}.  \n"
        f"Most attended: {orders[0]}. Most norm-weighted attention: {orders[1]}."
    )


def _method(view: View, params: Params) -> str:
    heads = {
        "model": "all heads of all layers",
        "layer": f"all heads of layer {view.layer}",
        "head": f"L{view.layer} H{view.head} alone",
    }[params.scope]
    among = "Special tokens are never hidden."
    if params.candidates == "all":
        among = "Hiding an attention sink can change the output even if its own contribution is small."
    return (
        f"No query of {heads} attends to a hidden token; its own output still counts in the pooling. {among} The "
        f"change is 1 − cosine of the sentence embedding with and without the tokens. The band spans {len(SEEDS)} "
        "random draws, the same for every head.\n\n"
        "Jain and Wallace (2019) found very different weights that lead to the same prediction. Serrano and Smith "
        "(2019) deleted weights and found them noisy indicators of importance. Both studied text classifiers, mostly "
        "recurrent ones with one attention layer, so their results need not hold for transformers. Wiegreffe and "
        "Pinter (2019) answer that such weights must also be ones that a trained model can have."
    )
