"""Over a corpus: every head by a measure's mean over thousands of sentences, next to this sentence."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.core.corpora import atlas_building, atlases
from pages.core.view.view import View
from pages.core.widgets.export import Export
from pages.core.words.markdown import errors_said
from pages.head_types import atlas_card, atlas_compared, atlas_map
from pages.head_types.atlas_opened import Opened
from pages.head_types.params import ATLAS_MEASURES, AtlasView
from pages.state.url_state import state


def draw(view: View) -> Export | None:
    """The choice of an atlas and a measure, and what it says; None where no atlas is open."""
    exported = None
    with errors_said():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            atlas = atlases.choose(view)
            state.bound(
                st.selectbox, AtlasView.measure, "Measure", list(ATLAS_MEASURES), format_func=ATLAS_MEASURES.get
            )
        if atlas is not None:
            exported = show(Opened.of(view, atlas, state.read(AtlasView)))
    atlas_building.panel(view)
    return exported


def show(found: Opened) -> Export:
    """The map, the card of the open head, and a comparison."""
    drawn = atlas_map.draw(found)
    atlas_card.draw(found)
    drawn |= atlas_compared.draw(found)
    st.caption(
        "Limits: weights say where attention is, not what it causes. The twins were trained on WordNet’s texts, so "
        "these sentences are not new to them."
    )

    def frame() -> pd.DataFrame:
        rows = found.atlas.table("heads")
        return rows[rows["measure"] == found.measure.name]

    return Export(
        found.view,
        f"Atlas of {found.atlas.model_name}",
        frame,
        figures=drawn,
        program="from pathlib import Path\n\nfrom encoder import corpus\n"
        f"atlas = corpus.open_atlas({atlases.python(found.atlas)})\n"
        f'mean, low, high = (atlas.array("{found.measure.name}", one) for one in ("mean", "low", "high"))\n'
        f"mean[{found.layer}, {found.head}]",
        settings={"Texts": f"{found.atlas.n_texts:,}", "Measure": found.measure.title, "Head": found.name},
    )
