"""The ranking of all texts for a query, and next to it what is selected: one text, or two."""

import streamlit as st

from encoder import texts
from pages.core.inputs import kept_file
from pages.core.view import View
from pages.core.widgets import adjust, examples
from pages.core.words import errors_said, number, opening, plain
from pages.state import state
from pages.texts import circuit, exported, hits, missed, number_placed, pairs, places, plane, shaded, sources
from pages.texts.params import PARTS, Params
from pages.texts.subject import Subject, marked, ranking_of

#: Texts of the list; any other is opened by its rank.
LISTED = 100
#: Characters of a text that the list shows.
BRIEF = 120
LIST_HEIGHT = 340
#: Icon of the text that is explained.
SELECTED = ":material/arrow_right:"
#: Part -> what draws it.
DRAWN = {
    "words": shaded.draw, "pairs": pairs.draw, "circuit": circuit.draw, "two": hits.two, "missed": missed.draw,
    "hits": hits.draw, "long": places.draw, "map": plane.draw,
}  # fmt: skip


def show(view: View) -> None:
    """The page for texts."""
    opening("Which of your texts answer a query, and why does each have its score?")
    left, right = st.columns([29, 71], gap="medium")
    with left, errors_said():
        subject = _choose(view)
    if subject is not None:
        with right, st.container(gap="xsmall", key="texts-why"), errors_said():
            number_placed.draw(subject)
            part = state.segmented(Params.part, "Explain", PARTS, label_visibility="collapsed")
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
    if other.strip():
        return Subject(view, query, other, ranking, None, params)
    if ranking is None:  # work that waits for a click says so itself
        if not query.strip():
            st.info("Type a query, and choose texts.", icon=":material/search:")
        return None
    place = _selected(ranking, params)
    return Subject(view, query, ranking.collection.texts[place], ranking, place, params)


def _ranking(view: View, given: object, query: str) -> texts.Ranking | None:
    if given is None:
        st.info("Choose a file under Your texts.", icon=":material/upload_file:")
        return None
    if isinstance(given, sources.Given):
        kept_file.say_left_out(given.problems, given.n_left_out, "searched", "search-problems")
    found = sources.collection(view, given)  # type: ignore[arg-type]
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
    _list(ranking)
    return ranking


def _list(ranking: texts.Ranking) -> None:
    """All texts with rank and score, the first LISTED as buttons; a click selects, and an arrow marks it."""
    params = state.read(Params)
    matches = marked(params, len(ranking.scores))
    selected = None if params.similar_to.strip() else _selected(ranking, params)
    with st.container(height=LIST_HEIGHT, key="texts-list", gap=None):
        for one in ranking.rows[:LISTED]:
            match = " :material/check_circle:" if one.place in matches else ""
            st.button(
                f"{one.rank}. **{number(one.score)}**{match} {plain(brief(ranking.collection.texts[one.place]))}",
                key=f"texts:rank:{one.place}",
                type="tertiary",
                icon=SELECTED if one.place == selected else None,
                on_click=select,
                args=(one.place,),
            )
    if len(ranking.scores) > LISTED:
        rank = st.number_input("Open the text of rank", 1, len(ranking.scores), 1, key="texts:of-rank")
        place = ranking.rows[rank - 1].place
        st.button(f"Open rank {rank:,}", key="texts:open-rank", type="tertiary", on_click=select, args=(place,))


def _selected(ranking: texts.Ranking, params: Params) -> int:
    """The place of the text of the collection that was clicked, or of the first hit."""
    return params.place if params.place is not None and params.place < len(ranking.scores) else ranking.rows[0].place


def select(place: int) -> None:
    """Select a text of the collection. For callbacks."""
    state.put_all({Params.place: place, Params.similar_to: ""})


def brief(text: str) -> str:
    """The beginning of a long text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= BRIEF else text[:BRIEF] + " …"
