"""Token search: the tokens of a corpus whose vectors are nearest to that of a token of the sentence."""

from __future__ import annotations

import dataclasses

import pandas as pd
import streamlit as st

from encoder.corpus import Atlas, TokenHit
from pages.core.corpora import atlas_building, atlases
from pages.core.frame.frame import current_view, heading
from pages.core.view.view import View
from pages.core.widgets.export import Export, title
from pages.core.words.glossary import brief_opening
from pages.core.words.markdown import errors_said, plain
from pages.state.links import next_page
from pages.state.url_state import state
from pages.token_search import found, query
from pages.token_search.params import Params


def main(view: View) -> None:
    heading()
    brief_opening(
        "You see where a corpus uses a token as your sentence does: the nearest vectors, by cosine.  \n"
        "Look for a word with two meanings, such as “bank”: do its neighbours have your meaning?  \n"
        "This shows what a vector in context has kept: the word, its meaning, or its place."
    )
    with errors_said():
        atlas = atlases.choose(view)
        if atlas is not None and _fits(view, atlas):
            show(view, atlas)
    atlas_building.panel(view)
    next_page("head_atlas", "Head atlas, all heads over the corpus")


def _fits(view: View, atlas: Atlas) -> bool:
    """Whether the atlas has vectors, and of this model; otherwise a sentence says what to do."""
    if not atlases.belongs(view, atlas):
        st.info(
            f"The vectors of this atlas are of {plain(atlas.model_name)}: choose that model above.",
            icon=":material/dataset:",
        )
        return False
    if not atlas.vector_layers:
        st.info("This atlas has no vectors of tokens: build it with --vectors.", icon=":material/dataset:")
        return False
    return True


def show(view: View, atlas: Atlas) -> None:
    """The token, the filter, the hits, what they share, and the export panel."""
    place = query.choose_token(view)
    if place is None:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = query.choose_layer(view, atlas)
        where = query.choose_filter(view)
        state.bound(st.toggle, Params.others, "Other words only")
    asked = query.Query(view, atlas, place, at, where, state.get(Params.others))
    hits = asked.hits()
    found.answer(asked, hits)
    if hits:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            texts = found.sentences(asked, hits)
        with right:
            found.shared(asked, hits)
    tokens = atlases.tokens(atlas, at)
    how = "" if tokens.graph is None else ", by an index that may miss a neighbour"
    st.caption(
        f"Tokens compared: {len(tokens):,}{how}. Limits: a near vector need not have the same meaning, and the cosine "
        "says nothing about which part of the vector agrees."
    )
    if hits:
        exported(asked, hits, texts).draw()


def exported(asked: query.Query, hits: list[TokenHit], texts: list[str]) -> Export:
    """The hits. texts: the sentence of each one."""

    def frame() -> pd.DataFrame:
        rows = pd.DataFrame([dataclasses.asdict(hit) for hit in hits]).drop(columns="place")
        return rows.assign(sentence=texts)

    where = f", corpus.{asked.where!r}" if asked.where is not None else ""
    without = f", without={asked.token!r}" if asked.others else ""
    return Export(
        asked.view,
        title(asked.view, f"Nearest tokens to “{asked.token}”"),
        frame,
        lines="from pathlib import Path\n\nfrom encoder import corpus\n"
        f"atlas = corpus.open_atlas({atlases.python(asked.atlas)})\n"
        f"tokens = corpus.load_tokens(atlas, layer={asked.at})\n"
        f"vector = corpus.token_vector(trace, {asked.at}, {asked.place})\n"
        f"hits = tokens.nearest(vector, {query.FOUND}{where}{without})",
        settings={"Texts": atlases.texts_of(asked.atlas), "Vectors after layer": asked.at, "Token": asked.token},
    )


main(current_view())
