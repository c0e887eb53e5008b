"""One token on its way through the residual stream, as an animation, and its numbers as a table."""

import pandas as pd
import streamlit as st

from encoder import explain, figures
from encoder.explain import TokenFlow
from encoder.export import tables
from pages.components import flow_motion
from pages.core.view import selection
from pages.core.view.view import View
from pages.core.words import token_names


def show(view: View) -> TokenFlow:
    """The token's choice, the animation, and a table of all its frames. Returns the numbers."""
    place = selection.selected_place(view)
    selection.place_bar(view, place, query="Token", columns=3)
    labels = view.trace.labels
    flow = explain.token_flow(view.trace, place.query)
    names = [figures.isolated(label) + token_names.which(labels, at) for at, label in enumerate(labels)]
    flow_motion(
        flow,
        names,
        key="token-stream",
        alt=f"The vector of {names[place.query]} in the residual stream: its norm, and what each sublayer adds to it.",
    )
    st.caption(
        f"Width of the band: norm of the vector, at most {flow.largest:.1f}. A: attention, from above; F: FFN, from "
        f"below; an arrow is as wide as the norm of the update. {_order(view)}"
    )
    with st.expander("All numbers as a table"):
        st.dataframe(frame(flow, labels), hide_index=True, width="stretch")
    return flow


def _order(view: View) -> str:
    if view.loaded.config.norm_placement == "post":
        return "Post-norm: a LayerNorm rescales each sum. Its gain decides how wide the band is afterwards."
    return "Pre-norm: no LayerNorm rescales the residual stream between the layers, so the band can grow."


def frame(flow: TokenFlow, labels: tuple[str, ...]) -> pd.DataFrame:
    """A row for each sublayer and the final norm."""
    table = tables.flow_frame(flow)
    table["attends to"] = [", ".join(labels[at] for at, _ in stage.attended) for stage in flow.stages]
    return table
