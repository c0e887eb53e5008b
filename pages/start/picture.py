"""The picture of the front page: the whole model at work on the visitor's sentence, with one head in full."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from encoder import explain
from encoder import export as views
from encoder.export import tables
from encoder.figures.numbers import three_digits
from encoder.measure import ranking, telling
from pages import components
from pages.components import ModelEvent
from pages.components.lazy import expander
from pages.core.frame import sidebar
from pages.core.inputs.picture_inputs import picture_inputs
from pages.core.view import first_view
from pages.core.view.view import View
from pages.core.widgets.export import Export
from pages.core.words import token_names
from pages.start.params import Params
from pages.state import links
from pages.state.url_state import state


def draw(view: View) -> None:
    """What the selected word attends to, the picture, and the pages with the numbers behind it."""
    if view.i is None:
        st.markdown("Click a token to see what it attends to.")
    else:
        st.markdown(answer(view, view.i))
        if note := first_view.sentence(view) or caution(view, view.i):
            st.caption(note)
    # The same numbers have the same bytes: the browser then keeps what is open.
    picture = views.model(
        view.trace, view.layer, view.head, view.i, view.j, model=view.loaded.name, first=state.newest(Params.first),
        **picture_inputs(view),
    )  # fmt: skip
    components.model_picture(picture, key="start-model", on_event=take)
    with st.container(horizontal=True, gap="small"):
        values = {"layer": view.layer, "head": view.head, "i": view.i, "j": view.j}
        known = {name: value for name, value in values.items() if value is not None}
        links.button(
            "forward_pass", "How this weight is made", "calculate", "start-numbers", {**known, "step": "softmax"}
        )
        links.button("heads", "All heads of this sentence", "grid_view", "start-heads", known)
    part = expander("The residual stream of the selected token as a table", "start-stream")
    if part is not None:
        part.dataframe(stream(view), hide_index=True, width="stretch")


def stream(view: View) -> pd.DataFrame:
    """The residual stream of the selected token: norms before and after each sublayer, and of what it adds."""
    flow = explain.token_flow(view.trace, view.i or 0)
    table, labels = tables.flow_frame(flow), view.trace.labels
    table["attends to"] = [", ".join(labels[at] for at, _ in stage.attended) for stage in flow.stages]
    return table


def export(view: View) -> None:
    """The residual stream of the selected token, and the lines that draw the picture in a notebook."""
    token = view.i or 0
    Export(
        view,
        f"Residual stream of {view.trace.labels[token]} in {view.loaded.name}",
        lambda: tables.flow_frame(explain.token_flow(view.trace, token)),
        settings={"Token": token},
        lines="from encoder import explain, export\nfrom encoder.export import tables\n"
        f"flow = explain.token_flow(trace, {token})\ntable = tables.flow_frame(flow)\n"
        f"picture = export.model(trace, {view.layer}, {view.head}, {view.i}, {view.j})",
    ).draw()


def answer(view: View, query: int) -> str:
    """What a token attends to, in one line."""
    trace = view.trace
    row = trace.attention(view.layer, view.head, slice(query, query + 1))[0]
    key = int(row.argmax()) if view.j is None else view.j
    query_name, key_name = (token_names.bold(trace.labels, place) for place in (query, key))
    rank, count = ranking.rank(row, key)
    return (
        f"In L{view.layer} H{view.head} (layer {view.layer}, head {view.head}), {query_name} attends to {key_name}: "
        f"{three_digits(float(row[key]))}. Rank: {rank} of {count}."
    )


def caution(view: View, query: int) -> str:
    """What the weight of a pronoun does not prove; "" for another word."""
    is_pronoun = view.trace.labels[query].lower() in telling.PRONOUNS
    return "A pattern is no proof of coreference." if is_pronoun else ""


def take(event: ModelEvent) -> None:
    """Open a layer and head, or select tokens, on every page; or move the window of a long input. For callbacks."""
    if event["event"] == "open":
        sidebar.open_head(event["layer"], event["head"])
        return
    state.put(Params.first, event["first"])
    if event["event"] == "select":
        sidebar.select(event["query"], event["key"])
