"""Image attention: what each patch of an image attends to, laid over the image."""

from __future__ import annotations

import streamlit as st

from encoder.export import tables
from pages.core.frame.frame import current_view, heading
from pages.core.view.view import View
from pages.core.widgets.export import Export, place, title
from pages.core.words.glossary import brief_opening
from pages.image_attention import depth, norms, overlay, why
from pages.state.links import next_page


def main(view: View) -> None:
    with st.container(key="image-page"), st.container(key="image-body"):
        image_side, heads_side = st.container(key="image-left"), st.container(key="image-right")
    with image_side:
        heading()
        brief_opening(
            "You see the image as patches, the tokens of this model. Look for heads that stay near a patch and heads "
            "that find the ink. Weights suggest where information may come from."
        )
        overlay.classes(view)
        measured = overlay.draw_image(view)
    with heads_side:
        overlay.draw_heads(view)
    measured = why.draw(view, measured)
    depth.over_depth(view)
    depth.distances(view)
    norms.draw(view)
    at = overlay.token(view)
    Export(
        view,
        title(view, f"Attention of {view.trace.labels[at]}"),
        lambda: tables.patches_frame(view.trace, at),
        lines=f"from encoder.measure import patches\nrows = patches.rows_of_token(trace, {at})  # [L, H, T]"
        + ("" if measured is None else measured.covered.python_lines()),
        settings=place(view),
    ).draw()
    next_page("positions", "Positions, how similar the places of two patches are")


main(current_view())
