"""Head similarity: heads as points, close together where their attention is similar."""

import pandas as pd
import streamlit as st

from encoder.figures.heads import head_points
from encoder.measure.head_divergence import HeadPlane, HeadSimilarity, head_plane, head_similarity
from pages.components import PlotEvent, on_click, plot
from pages.core.view import View, selection
from pages.core.widgets import Export, title
from pages.core.words import about
from pages.head_types.heads import Heads
from pages.head_types.params import COLOURINGS, Params
from pages.state import state

#: Texts of more tokens get a progress bar.
SHORT_TEXT = 256


def divergences(view: View) -> HeadSimilarity:
    """The divergences of all pairs of heads, kept for all sessions."""
    doing = "Comparing all pairs of heads …"
    bar = st.progress(0.0, doing) if view.trace.n_tokens > SHORT_TEXT else None

    def make(trace) -> HeadSimilarity:
        return head_similarity(trace, progress=bar and (lambda share: bar.progress(share, doing)))

    try:
        return view.derived("similarity", make)
    finally:
        if bar is not None:
            bar.empty()


def draw(view: View, found: Heads) -> Export:
    """The points; a click opens a head."""
    colouring = state.segmented(Params.points, "Colour", COLOURINGS)
    similarity = divergences(view)
    with st.spinner("Placing the heads …", show_time=False):
        plane: HeadPlane = view.derived("plane of heads", lambda _: head_plane(similarity))
    types = {one.title: found.with_type(one.name) for one in found.types_present()}
    drawn = head_points(
        plane.xy,
        found.n_heads,
        head_types=types if colouring == "role" else None,
        badges=[found.badge(number) for number in range(len(found))],
        selected=(view.layer, view.head),
        faded=sorted(set(range(len(found))) - set(found.shown())),
        colours=view.colours,
    )

    def open_point(event: PlotEvent) -> None:
        head = drawn.at(event["trace"], event["point"])
        if head is not None:
            selection.open_head(*head)

    plot(
        drawn.figure,
        key="head-map",
        alt=f"{len(found)} heads as points; near points have similar attention. Coloured by {COLOURINGS[colouring]}.",
        on_event=on_click(point=open_point),
    )
    nearest = ", ".join(
        f"L{layer} H{head} ({value:.3f})" for layer, head, value in similarity.nearest(view.layer, view.head)
    )
    if nearest:
        st.markdown(f"Smallest divergence from **L{view.layer} H{view.head}**: {nearest}.")
    st.caption(
        f"Near points: similar attention. The plane is approximate; its stress is {plane.stress:.2f} (0: exact).",
        help=_method(similarity),
    )

    def frame() -> pd.DataFrame:
        rows = [(*divmod(number, found.n_heads), found.badge(number), *xy) for number, xy in enumerate(plane.xy)]
        return pd.DataFrame(rows, columns=["layer", "head", "head_types", "x", "y"])

    return Export(
        view,
        title(view, "Similarity of the heads"),
        frame,
        figures={"Heads as points: near points have similar attention": drawn.figure},
        lines="from encoder.measure import head_divergence\n"
        "plane = head_divergence.head_plane(head_divergence.head_similarity(trace))\nplane.xy",
        settings=found.settings("map"),
    )


def _method(similarity: HeadSimilarity) -> str:
    text = about.text(__file__, "Similarity of two heads")
    if similarity.n_rows < similarity.n_tokens:
        text += f" Rows compared: {similarity.n_rows:,} of {similarity.n_tokens:,}, evenly spaced."
    return text
