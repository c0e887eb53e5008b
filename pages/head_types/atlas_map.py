"""The map of all heads: a measure's mean over the corpus, and above it the open head next to this sentence."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go

from encoder.corpus import standing
from encoder.figures.atlas import corpus_map
from pages.components import on_click, plot
from pages.core.corpora import atlases
from pages.core.widgets import answer
from pages.core.words.markdown import plain
from pages.head_types.atlas_opened import Opened, means


def draw(found: Opened) -> dict[str, go.Figure]:
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
    every = means(found.atlas, found.measure.name)
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
