"""Over a corpus: every head by a measure's mean over thousands of sentences, next to this sentence."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder.corpus import standing
from encoder.figures.atlas import Means, corpus_map
from pages.components import on_click, plot
from pages.core.corpora import atlases
from pages.core.view import View
from pages.core.widgets import Export, answer
from pages.core.words import about, errors_said, plain
from pages.head_types import atlas_card
from pages.head_types.atlas_card import Opened
from pages.head_types.params import ATLAS_MEASURES, AtlasView
from pages.state import state


def draw(view: View) -> Export | None:
    """The choice of an atlas and a measure, and what it says; None where no atlas is open."""
    exported = None
    with errors_said():
        with st.container(key="controls-corpus", horizontal=True, vertical_alignment="bottom"):
            atlas = atlases.choose(view)
            known = atlas.measures if atlas is not None else ATLAS_MEASURES
            measures = {name: title for name, title in ATLAS_MEASURES.items() if name in known}
            state.selectbox(AtlasView.measure, "Measure", measures)
        if atlas is not None:
            exported = show(Opened.of(view, atlas, state.read(AtlasView)))
    return exported


def show(found: Opened) -> Export:
    """The map, and the card of the open head."""
    drawn = _map(found)
    atlas_card.draw(found)
    st.caption(about.text(__file__, "Limits of a corpus"))

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


def _map(found: Opened) -> dict[str, go.Figure]:
    """The answer line and the map; a click opens a head. Returns the figure by its title, for the report."""
    drawn = _figure(found)
    with answer.area():
        answer.draw(*said(found))
        plot(
            drawn,
            key="head-atlas",
            alt=f"{found.measure.title} of {found.atlas.n_layers} x {found.atlas.n_heads} heads over the corpus, "
            "layers downwards.",
            on_event=on_click(cell=found.open),
        )
    return {f"{found.measure.title} over {atlases.texts_of(found.atlas)}": drawn}


def _figure(found: Opened) -> go.Figure:
    """The map [L, H]; the colours of a share end at 1, so that measures compare."""
    every = Means(*(found.atlas.array(found.measure.name, one) for one in ("mean", "low", "high")))
    largest = float(np.nanmax(every.mean)) if np.isfinite(every.mean).any() else 1.0
    return corpus_map(
        every, f"{found.measure.title}: mean over the texts", end=1.0 if found.measure.unit == "share" else largest,
        digits=found.digits, selected=(found.layer, found.head), colours=found.view.colours,
    )  # fmt: skip


def said(found: Opened) -> tuple[str, str]:
    """The open head: here and over the corpus; then where this sentence stands among the texts."""
    mean, n = found.at(), int(found.at("n"))
    title = found.measure.title[0].lower() + found.measure.title[1:]
    if math.isnan(mean):
        return f"**{found.name}**: no text of this corpus has the measure “{title}”.", ""
    half = (found.at("high") - found.at("low")) / 2
    over = f"**{found.said(mean)}** ± {found.said(half, 1)} in {plain(atlases.texts_of(found.atlas))}"
    if n < found.atlas.n_texts:
        over += f" ({n:,} have it)"
    spread = f"95% interval of the mean; standard deviation of the texts: {found.said(found.at('std'))}."
    here = found.here_at()
    if here is None:
        first = f"**{found.name}**, {title}: {over}."
        return first, spread
    share = standing(found.atlas, found.measure.name, found.layer, found.head, here)
    return (
        f"**{found.name}**, {title}: **{found.said(here)}** here, {over}.",
        f"{share:.0%} of the texts have a smaller number. ±: {spread}",
    )
