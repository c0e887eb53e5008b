"""Over a corpus: every head by a measure's mean over thousands of sentences, and the card of the open head.

The card has examples, offsets, spread, labels and similar heads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder.checkpoints import BUNDLED
from encoder.corpus import Atlas, Example, standing
from encoder.figures.atlas import Means, corpus_map, offset_shares, text_counts
from encoder.measure.head_definitions import BY_NAME, Definition
from encoder.measure.head_measures import HeadMeasures
from encoder.measure.head_types import BY_NAME as TYPES
from pages.components import on_click, plot
from pages.core.corpora import atlases
from pages.core.view import View, ViewParams, selection
from pages.core.widgets import Export, answer
from pages.core.words import about, errors_said, in_columns, number, plain
from pages.heads.params import ATLAS_MEASURES, CARD, AtlasView
from pages.state import links, state

#: Columns of the card's tables.
NUMBERS = ("Mean", "Std. error")


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
    _card(found)
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
        every,
        f"{found.measure.title}: mean over the texts",
        end=1.0 if found.measure.unit == "share" else largest,
        digits=found.digits,
        selected=(found.layer, found.head),
        colours=found.view.colours,
    )


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


#: Examples of the card, characters of one, and similar heads.
SHOWN, BRIEF, SIMILAR = 5, 90, 5


@dataclass(frozen=True)
class Opened:
    """here: the measures of this sentence, None if another model than the reader's made the atlas."""

    view: View
    atlas: Atlas
    measure: Definition
    layer: int
    head: int
    here: HeadMeasures | None

    @classmethod
    def of(cls, view: View, atlas: Atlas, params: AtlasView) -> Opened:
        """The open head is the reader's; in an atlas of another model, the page's own."""
        measure = BY_NAME[params.measure]
        if atlases.belongs(view, atlas):
            return cls(view, atlas, measure, view.layer, view.head, atlases.here(view, atlas))
        layer, head = params.foreign[0] if params.foreign else (0, 0)
        return cls(view, atlas, measure, min(layer, atlas.n_layers - 1), min(head, atlas.n_heads - 1), None)

    @property
    def name(self) -> str:
        """ "L4 H7"."""
        return f"L{self.layer} H{self.head}"

    @property
    def digits(self) -> int:
        """Decimals of the measure's numbers."""
        return 1 if self.measure.unit == "tokens" else 2

    def said(self, value: float, more: int = 0) -> str:
        """A value of the measure in a sentence."""
        return number(float(value), self.digits + more)

    def at(self, statistic: str = "mean") -> float:
        """The open head's statistic of the measure."""
        return float(self.atlas.array(self.measure.name, statistic)[self.layer, self.head])

    def here_at(self) -> float | None:
        """This sentence's value; None if it has none."""
        if self.here is None:
            return None
        value = float(self.here[self.measure.name][self.layer, self.head])
        return value if value == value else None

    def open(self, layer: int, head: int) -> None:
        """Open another head of the atlas. For callbacks."""
        if self.here is None:
            state.put(AtlasView.foreign, [(layer, head)])
        else:
            selection.open_head(layer, head)


def _card(found: Opened) -> None:
    """The open part of the card."""
    st.markdown(f"**{found.name}** · {_types(found)}")
    part = state.segmented(AtlasView.card, "The head’s card", CARD, label_visibility="collapsed")
    if part == "texts":
        _examples(found)
    elif part == "offsets":
        _offsets(found)
    elif part == "spread":
        _spread(found)
    elif part == "labels":
        _labels(found)
    else:
        _similar(found)


def _types(found: Opened) -> str:
    """The head's types by the corpus means, and how often one text by itself shows them."""
    rows = found.atlas.types()
    rows = rows[(rows["layer"] == found.layer) & (rows["head"] == found.head)]
    by_mean = rows[rows["by_mean"]]
    if by_mean.empty:
        best = rows.sort_values("share", ascending=False).iloc[0]
        often = f"; {TYPES[best['type']].title.lower()} in {best['share']:.0%} of them" if best["share"] > 0.05 else ""
        return f"no head type over all texts{often}"
    return "; ".join(
        f"{TYPES[row['type']].title.lower()} over all texts, in single texts {row['share']:.0%} "
        f"({row['low']:.0%} to {row['high']:.0%})"
        for row in by_mean.to_dict("records")
    ) + (f". {found.atlas.caution}" if found.atlas.caution else "")


# --- examples --------------------------------------------------------------------------------------------------------


def _examples(found: Opened) -> None:
    examples = found.atlas.examples(found.layer, found.head, found.measure.name)[:SHOWN]
    st.caption(f"Texts with the largest “{found.measure.title.lower()}”. A click opens one in Heads.")
    opens = _opens(found)
    with st.container(gap=None, key="atlas-lines"):
        for rank, one in enumerate(examples):
            said = plain(one.sentence if len(one.sentence) <= BRIEF else one.sentence[:BRIEF] + " …")
            label = f"**{found.said(one.value)}** {said}"
            if opens is None:
                st.markdown(label)
            else:
                st.button(label, key=f"atlas:example:{rank}", type="tertiary", on_click=_open, args=(found, one, opens))
    if opens is None:
        st.caption(f"Choose {plain(found.atlas.model_name)} above to open these texts.")


def _opens(found: Opened) -> str | None:
    """The reader's model that opens the texts; None if it is not known here."""
    if found.here is not None:
        return str(state.get(ViewParams.model))
    name = state.get(atlases.AtlasParams.atlas)
    return name if name in BUNDLED else None


def _open(found: Opened, example: Example, model: str) -> None:
    """Let “Heads” open with the text. For callbacks."""
    state.put_all({ViewParams.text: example.sentence, ViewParams.pair: "", ViewParams.model: model})
    selection.open_head(found.layer, found.head)
    selection.clear()
    links.open_later("heads")


# --- the other parts -------------------------------------------------------------------------------------------------


def _offsets(found: Opened) -> None:
    rows = found.atlas.profile(found.layer, found.head)
    plot(
        offset_shares(rows["offset"], rows["share"]),
        height=250,
        key="atlas:offsets",
        alt=f"Share of the attention of {found.name} at each offset of key and query.",
    )
    st.caption("−1 is the token before. All tokens of all texts count, [CLS] and [SEP] too.")


def _spread(found: Opened) -> None:
    bars = found.atlas.histogram(found.measure.name, found.layer, found.head)
    if bars.empty:
        st.markdown("No text has this measure.")
        return
    plot(
        text_counts(
            bars["lower"], bars["upper"], bars["count"], found.measure.title, mean=found.at(), here=found.here_at()
        ),
        height=250,
        key="atlas:spread",
        alt=f"How many texts have which value of {found.measure.title}.",
    )
    st.caption("A wide histogram means: one sentence says little about this head.")


def _labels(found: Opened) -> None:
    tokens = found.atlas.key_tokens(found.layer, found.head)
    table = pd.DataFrame(
        {"Attention to": tokens["token"], "Mean": tokens["mean"], "Std. error": tokens["se"], "Texts": tokens["n"]}
    )
    st.dataframe(in_columns(table, NUMBERS, 3), hide_index=True, width="stretch", height="content")
    names = list(found.atlas.labels)
    if not names:
        st.caption("This atlas has no labels. To see what depends on a label, build one with --label.")
        return
    name = state.selectbox(AtlasView.label, "Label", names)
    rows = found.atlas.by_label(name, found.measure.name)
    rows = rows[(rows["layer"] == found.layer) & (rows["head"] == found.head)].sort_values("mean", ascending=False)
    table = pd.DataFrame({name: rows["value"], "Mean": rows["mean"], "Std. error": rows["se"], "Texts": rows["n"]})
    st.dataframe(in_columns(table, NUMBERS, found.digits + 1), hide_index=True, width="stretch", height="content")


def _similar(found: Opened) -> None:
    st.caption(
        "Heads with the smallest Jensen–Shannon divergence over the corpus (0: equal, 0.693: nothing in common)."
    )
    measure = found.measure
    with st.container(gap=None, key="atlas-lines"):
        for layer, head, divergence in found.atlas.most_similar(found.layer, found.head, SIMILAR):
            mean = found.said(found.atlas.array(measure.name)[layer, head])
            st.button(
                f"**L{layer} H{head}** · divergence {number(divergence)} · {measure.title.lower()} {mean}",
                key=f"atlas:similar:{layer}.{head}",
                type="tertiary",
                on_click=found.open,
                args=(layer, head),
            )
