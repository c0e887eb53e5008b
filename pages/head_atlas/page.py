"""Head atlas: every head over a corpus, beside this sentence."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.core.corpora import atlas_building, atlases
from pages.core.frame.frame import current_view, heading
from pages.core.view.view import View
from pages.core.widgets.export import Export
from pages.core.words.glossary import brief_opening
from pages.core.words.markdown import errors_said
from pages.head_atlas import card, compared
from pages.head_atlas import map as map_of_heads
from pages.head_atlas.opened import Opened
from pages.head_atlas.params import MEASURES, Params
from pages.state.links import next_page
from pages.state.url_state import state


def main(view: View) -> None:
    heading()
    brief_opening(
        "You see what each head does on average over thousands of sentences, and in yours.  \n"
        "Look for heads whose number here is far from the mean: there, one sentence misleads.  \n"
        "A claim about a head needs a corpus. Other kinds of text can give other means."
    )
    with errors_said():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            atlas = atlases.choose(view)
            state.bound(st.selectbox, Params.measure, "Measure", list(MEASURES), format_func=MEASURES.get)
        if atlas is not None:
            show(Opened.of(view, atlas, state.read(Params)))
    atlas_building.panel(view)
    next_page("head_types", "Head types, all heads in this sentence")


def show(found: Opened) -> None:
    """The map, the card of the open head, a comparison, and the export panel."""
    left, right = st.columns([11, 9], gap="medium")
    with left:
        drawn = map_of_heads.draw(found)
    with right:
        card.draw(found)
    drawn |= compared.draw(found)
    st.caption(
        "Limits: weights say where attention is, not what it causes. The twins were trained on WordNet’s texts, so "
        "these sentences are not new to them."
    )

    def frame() -> pd.DataFrame:
        rows = found.atlas.table("heads")
        return rows[rows["measure"] == found.measure.name]

    Export(
        found.view,
        f"Atlas of {found.atlas.model_name}",
        frame,
        figures=drawn,
        program="from pathlib import Path\n\nfrom encoder import corpus\n"
        f"atlas = corpus.open_atlas({atlases.python(found.atlas)})\n"
        f'mean, low, high = (atlas.array("{found.measure.name}", one) for one in ("mean", "low", "high"))\n'
        f"mean[{found.layer}, {found.head}]",
        settings={"Texts": f"{found.atlas.n_texts:,}", "Measure": found.measure.title, "Head": found.name},
    ).draw()


main(current_view())
