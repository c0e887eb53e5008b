"""The list of a ranking: every text with its rank and score; a click selects one."""

from contextlib import nullcontext

import streamlit as st

from encoder import texts
from pages.core.words import number, plain
from pages.state import state
from pages.texts.params import Params

#: Texts of the list; any other is opened by its rank.
LISTED = 100
#: Characters of a text that the list shows.
BRIEF = 120
LIST_HEIGHT = 340
#: Decimals of a score, as above the parts: hits that are near each other differ in the last ones.
DIGITS = 4
#: Icon of the text that is explained.
SELECTED = ":material/arrow_right:"


def draw(ranking: texts.Ranking, matches: tuple[int, ...] = ()) -> None:
    """All texts with rank and score, the first LISTED as buttons; a click selects, and an arrow marks it.

    matches: the places that the user marked.
    """
    params = state.read(Params)
    chosen = None if params.similar_to.strip() else selected(ranking, params)
    with st.container(height=LIST_HEIGHT, key="texts-list", gap=None):
        for one in ranking.rows[:LISTED]:
            match = " :material/check_circle:" if one.place in matches else ""
            text = plain(brief(ranking.collection.texts[one.place]))
            is_chosen = one.place == chosen
            with st.container(key="texts-selected") if is_chosen else nullcontext():  # stays in sight: page.css
                st.button(
                    f"{one.rank}. **{number(one.score, DIGITS)}**{match} {text}",
                    key=f"texts:rank:{one.place}",
                    type="tertiary",
                    icon=SELECTED if is_chosen else None,
                    on_click=select,
                    args=(one.place,),
                )
    if len(ranking.scores) > LISTED:
        rank = st.number_input("Open the text of rank", 1, len(ranking.scores), 1, key="texts:of-rank")
        place = ranking.rows[rank - 1].place
        st.button(f"Open rank {rank:,}", key="texts:open-rank", type="tertiary", on_click=select, args=(place,))


def selected(ranking: texts.Ranking, params: Params) -> int:
    """The place of the text of the collection that was clicked, or of the first hit. Of a miss, the part for misses has
    more to say: by default, it has the first text below the list, or the lowest one."""
    if params.place is not None and params.place < len(ranking.scores):
        return params.place
    is_miss = params.part == "missed" and isinstance(ranking.query, str)
    return ranking.rows[min(LISTED, len(ranking.rows) - 1) if is_miss else 0].place


def select(place: int) -> None:
    """Select a text of the collection. For callbacks."""
    state.put_all({Params.place: place, Params.similar_to: ""})


def marked(params: Params, n_texts: int) -> tuple[int, ...]:
    """The places that the user marked as matches."""
    given = (part for part in params.matches.split(",") if part.isdecimal())
    return tuple(sorted({int(part) for part in given if int(part) < n_texts}))


def brief(text: str) -> str:
    """The beginning of a long text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= BRIEF else text[:BRIEF] + " …"
