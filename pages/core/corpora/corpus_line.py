"""One line about the open head: this sentence's number next to that of a corpus, if the model has an atlas."""

import math

import streamlit as st

from encoder.corpus import Atlas
from encoder.measure.head_definitions import BY_NAME
from pages.core.corpora import atlases
from pages.core.view import View, head_measures
from pages.core.words import number, plain
from pages.state import links

#: What the line says of a head without a type over the corpus.
OTHERWISE = "relative_entropy"


def draw(view: View) -> None:
    """Draw the line and a link to the heads over a corpus; nothing for a model without an atlas."""
    atlas = atlases.of_model(view)
    if atlas is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(sentence(view, atlas), width="content")
        links.button("heads", "Over a corpus", "public", "to-corpus", {"all_heads": "corpus"}, type="tertiary")


def sentence(view: View, atlas: Atlas) -> str:
    """The measure of the head's type over the corpus, there and here."""
    place = view.layer, view.head
    findings = atlas.types_of_heads[view.layer][view.head]
    name = findings[0].measure if findings else OTHERWISE
    mean = float(atlas.array(name)[place])
    half = float(atlas.array(name, "high")[place] - atlas.array(name, "low")[place]) / 2
    here = math.nan
    if view.trace.n_tokens < head_measures.LONG_TEXT:  # those of a long text take seconds
        here = float(atlases.here(view, atlas)[name][place])
    said = "" if math.isnan(here) else f"**{number(here, 2)}** here, "
    title = BY_NAME[name].title.lower()
    over = f"**{number(mean, 2)}** ± {number(half)} in {plain(atlases.texts_of(atlas))}"
    return f"{title[0].upper()}{title[1:]}: {said}{over}."
