"""Words: the tokens of a corpus whose vectors are nearest to that of a token of the sentence."""

import dataclasses

import pandas as pd
import streamlit as st

from encoder.corpus import Atlas, TokenHit
from encoder.load import first_bundled
from pages.core.corpora import atlas_building, atlases
from pages.core.corpora.atlases import AtlasParams
from pages.core.inputs import other_input
from pages.core.view import View
from pages.core.widgets import Export, title
from pages.core.words import errors_said, opening, plain
from pages.search import token_hits, token_query
from pages.search.params import TokenParams
from pages.state import state


def show(view: View) -> None:
    """The page for words: a token of the sentence, and the tokens of a corpus that are used like it."""
    opening("Where does a corpus use a word as your sentence does, by the cosine of two token vectors?")
    with errors_said():
        if not state.newest(AtlasParams.atlas) and not _has_vectors(atlases.of_model(view)):
            view = other_input.instead(view, first_bundled("text"), "has no atlas with vectors of tokens")
        atlas = atlases.choose(view)
        if atlas is not None and _fits(view, atlas):
            _draw(view, atlas)
    atlas_building.panel(view)


def _has_vectors(atlas: Atlas | None) -> bool:
    return atlas is not None and bool(atlas.vector_layers)


def _fits(view: View, atlas: Atlas) -> bool:
    """Whether the atlas has vectors, and of this model; otherwise a sentence says what to do."""
    if not atlases.belongs(view, atlas):
        st.info(
            f"The vectors of this atlas are of {plain(atlas.model_name)}: choose that model above.",
            icon=":material/dataset:",
        )
        return False
    if not _has_vectors(atlas):
        st.info("This atlas has no vectors of tokens: build it with --vectors.", icon=":material/dataset:")
        return False
    return True


def _draw(view: View, atlas: Atlas) -> None:
    """The token, the filter, the hits, what they share, and the export panel."""
    place = token_query.choose_token(view)
    if place is None:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        at = token_query.choose_layer(view, atlas)
        where = token_query.choose_filter(view)
        state.bound(st.toggle, TokenParams.others, "Other words only")
    asked = token_query.Query(view, atlas, place, at, where, state.get(TokenParams.others))
    hits = asked.hits()
    token_hits.answer(asked, hits)
    if hits:
        left, right = st.columns([3, 2], gap="medium")
        with left:
            texts = token_hits.sentences(asked, hits)
        with right:
            token_hits.shared(asked, hits)
    tokens = atlases.tokens(atlas, at)
    how = "" if tokens.graph is None else ", by an index that may miss a neighbour"
    st.caption(
        f"Tokens compared: {len(tokens):,}{how}. Limits: a near vector need not have the same meaning, and the cosine "
        "says nothing about which part of the vector agrees."
    )
    if hits:
        exported(asked, hits, texts).draw()


def exported(asked: token_query.Query, hits: list[TokenHit], texts: list[str]) -> Export:
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
        f"hits = tokens.nearest(vector, {token_query.FOUND}{where}{without})",
        settings={"Texts": atlases.texts_of(asked.atlas), "Vectors after layer": asked.at, "Token": asked.token},
    )
