"""The ranking of all texts for a query, and next to it what is selected: one text, or two."""

import streamlit as st

from encoder import texts
from encoder.search import Collection
from pages.core.inputs import kept_file
from pages.core.view import View
from pages.core.widgets import adjust, examples
from pages.core.words import errors_said, opening
from pages.state import state
from pages.texts import (
    circuit,
    exported,
    hits,
    listed,
    missed,
    number_placed,
    of_media,
    own_texts,
    pairs,
    places,
    plane,
    shaded,
    sources,
)
from pages.texts.params import PARTS, Params
from pages.texts.subject import Subject, ranking_of

#: Parts for images and sounds, of what no query of words is asked.
OF_MEDIA = ("words", "pairs", "circuit")
#: Part -> what draws it.
DRAWN = {
    "words": shaded.draw, "pairs": pairs.draw, "circuit": circuit.draw, "two": hits.two, "missed": missed.draw,
    "hits": hits.draw, "long": places.draw, "map": plane.draw,
}  # fmt: skip


def show(view: View) -> None:
    """The page for texts."""
    is_text = view.loaded.takes == "text"
    opening("Which of your texts answer a query, and why does each have its score?")
    left, right = st.columns([29, 71], gap="medium")
    subject = None
    with left, errors_said():
        subject = _choose(view) if is_text else of_media.choose(view)
    if subject is not None:
        with right, st.container(gap="xsmall", key="texts-why"), errors_said():
            number_placed.draw(subject)
            offered = PARTS if is_text else {name: PARTS[name] for name in OF_MEDIA}
            with st.container(gap="xsmall", key="texts-part"):
                part = state.segmented(Params.part, "Explain", offered, label_visibility="collapsed")
                DRAWN[part](subject)
            number_placed.draw_compared(subject)
            exported.draw(subject)
    sources.say_limits()


def _choose(view: View) -> Subject | None:
    """The query, the ranking, a text of one's own and the source; None while a file is missing."""
    first = st.container(key="texts-search")
    with first:
        # Without a file, too: a query that was typed stays when the server has lost the file.
        typed = state.bound(
            st.text_input,
            Params.query,
            "Query",
            placeholder=view.text,
            help="Empty: the sentence of the other pages is the query.",
        )
    with adjust.drawer("texts", "Your texts", "library_add"):
        examples.draw(__file__, "pairs", "texts:example")
        given = sources.choose()
        other = state.bound(
            st.text_input,
            Params.similar_to,
            "Compare the query with one text only",
            placeholder="type a text",
            help="Empty: select a text in the list.",
        )
    query = typed if typed.strip() else view.text
    ranking = None
    with first, errors_said():
        ranking = _ranking(view, given, query)
    params = state.read(Params)
    labels, is_bundled = (given.labels, given.is_bundled) if isinstance(given, sources.Given) else ((), False)
    if other.strip():
        return Subject(view, query, other, ranking, None, params, is_bundled=is_bundled)
    if ranking is None:  # work that waits for a click, and a link without its texts, say so themselves
        if not query.strip():
            st.info("Type a query, and choose texts.", icon=":material/search:")
        return None
    place = listed.selected(ranking, params)
    text = ranking.collection.texts[place]
    return Subject(view, query, text, ranking, place, params, labels=labels, is_bundled=is_bundled)


def _ranking(view: View, given: sources.Given | Collection | None, query: str) -> texts.Ranking | None:
    if given is None:
        st.info("Choose a file under Your texts.", icon=":material/upload_file:")
        return None
    if isinstance(given, sources.Given):
        kept_file.say_left_out(given.problems, given.n_left_out, "searched", "search-problems")
    if not own_texts.are_here(given.texts, is_bundled=isinstance(given, sources.Given) and given.is_bundled):
        return None
    found = sources.collection(view, given)
    if found is None or not query.strip():
        return None
    ranking = ranking_of(view, found, query)
    if ranking is None:
        return None
    if found.n_cut:
        st.caption(
            f"Longer than {view.loaded.max_embed_tokens or view.loaded.config.max_tokens:,} tokens: {found.n_cut:,} of "
            f"{len(found):,} texts. Their vectors are those of their beginnings."
        )
    listed.draw(ranking, listed.marked(state.read(Params), len(ranking.scores)))
    return ranking
