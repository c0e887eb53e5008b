"""Occlusion of a text, a deletion test: hide the most attended tokens, or random ones."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import Trace
from encoder.figures.deletion import deletion_curves
from encoder.figures.numbers import three_digits
from encoder.measure.deletion import LONGEST, Deletion, deletion_test
from pages.base.work.compute_turns import TURNS
from pages.components import plot
from pages.components.button import button
from pages.contribution.params import Params
from pages.core.frame import input_row
from pages.core.view import View
from pages.core.widgets import Export, adjust, answer, place, title
from pages.core.words import about, token_names
from pages.state import state

#: Up to this many tokens the test runs without being asked.
AT_ONCE = 128
SCOPES = {"model": "In the whole model", "layer": "In this layer", "head": "In this head"}
CANDIDATES = {"words": "Words only", "all": "Special tokens, too"}
SEEDS = tuple(range(8))


def show(view: View) -> Export | None:
    """The whole part of the page; None where the test did not run."""
    _controls(view)
    params = state.read(Params)
    found = _run(view, params)
    if found is None:
        return None
    change = "change of the embedding"
    curves = {
        "largest attention first": found.by_attention,
        "largest norm-weighted first": found.by_norm_weighted,
    }
    figure = deletion_curves(found.counts, curves, found.random, "hidden tokens", change)
    with answer.area():
        first, second = _result(view, found)
        answer.draw(first)
        input_row.place_on_picture(view)
        plot(
            figure,
            key="deletion",
            alt=f"The {change} over the number of hidden tokens: the most attended, those with most norm-weighted "
            "attention, and random ones.",
            height=380,
        )
    st.caption(second)
    with st.container(key="beyond-wall-deletion"):
        st.caption(about.text(__file__, "How to read the test", draws=len(SEEDS)))
    about.expander(__file__, "How the test works, and the debate", **_method(view, params))
    return exported(view, found, figure, params)


def exported(view: View, found: Deletion, figure: go.Figure, params: Params) -> Export:
    """The change for each k."""
    layer, head = view.layer, view.head
    options = f'seeds=range({len(SEEDS)}), scope="{params.scope}", candidates="{params.candidates}"'
    return Export(
        view,
        title(view, f"Deletion test of L{layer} H{head}"),
        lambda: pd.DataFrame(
            {
                "k": found.counts,
                "most_attended": found.by_attention,
                "most_norm_weighted": found.by_norm_weighted,
                **{f"random_{seed}": row for seed, row in zip(SEEDS, found.random, strict=True)},
            }
        ),
        figures={"Change of the embedding, 1 − cosine": figure},
        lines="from encoder.measure import deletion\n"
        f"found = deletion.deletion_test(model, trace, {layer}, {head}, {options})",
        settings={**place(view), "Hidden": SCOPES[params.scope], "Among": CANDIDATES[params.candidates]},
    )


def _controls(view: View) -> None:
    with adjust.drawer("deletion"):
        state.segmented(
            Params.scope,
            "Hidden",
            SCOPES,
            help="Hidden: no query of these heads may attend to the token. Its own vector stays.",
        )
        state.segmented(
            Params.candidates,
            "Among",
            CANDIDATES,
            help="In many heads special tokens such as [CLS] receive much attention. Hiding one moves that attention "
            "to all other tokens.",
        )


def _run(view: View, params: Params) -> Deletion | None:
    """The test, kept for all sessions. For a longer text on request."""
    layer, head, n_tokens = view.layer, view.head, view.trace.n_tokens
    asked = str(("deletion asked", view.run.of_pass))
    if AT_ONCE < n_tokens <= LONGEST and not st.session_state.get(asked):
        st.info(f"This text is {n_tokens:,} tokens. The test runs the model dozens of times, which takes a while.")
        if not button("Run the test", "play_arrow", "deletion:run", type="primary"):
            return None
        st.session_state[asked] = True
    bar = st.progress(0.0, "Hiding tokens …")

    def make(trace: Trace) -> Deletion:
        return deletion_test(
            view.loaded,
            trace,
            layer,
            head,
            seeds=SEEDS,
            scope=params.scope,
            candidates=params.candidates,
            progress=lambda share: bar.progress(share, "Hiding tokens …"),
        )  # type: ignore[arg-type]

    try:
        with TURNS.turn(long=n_tokens > AT_ONCE):
            return view.derived(("deletion", layer, head, params.scope, params.candidates), make)
    finally:
        bar.empty()


def _result(view: View, found: Deletion) -> tuple[str, str]:
    """Where the most attended tokens lie against the random ones, in numbers; then which tokens these are."""
    labels, random = view.trace.labels, found.random[:, 0]
    above, inside, below = found.against_random()
    orders = [
        ", ".join(token_names.quoted(labels, token) for token in order[:4])
        for order in (found.order, found.norm_weighted_order)
    ]
    return (
        f"Hiding the most attended tokens changes the result more than any random draw for **{above} of "
        f"{len(found.counts)} numbers of hidden tokens**, within the random range for {inside}, less for {below}.",
        f"Change when {token_names.bold(labels, found.order[0])} is hidden, the most attended: "
        f"**{three_digits(found.by_attention[0])}**. One random token: {three_digits(random.min())} to "
        f"{three_digits(random.max())}, mean {three_digits(random.mean())}. "
        f"Most attended: {orders[0]}. Most norm-weighted attention: {orders[1]}.",
    )


def _method(view: View, params: Params) -> dict[str, object]:
    """What is hidden where, for the text about the test."""
    heads = {
        "model": "all heads of all layers",
        "layer": f"all heads of layer {view.layer}",
        "head": f"only L{view.layer} H{view.head}",
    }[params.scope]
    among = "Special tokens are never hidden."
    if params.candidates == "all":
        among = "Hiding an attention sink can change the output even if its own contribution is small."
    return {"heads": heads, "among": among, "draws": len(SEEDS)}
