"""Two hits side by side, all hits in one table, and the words that pull everything."""

import textwrap
from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from encoder import texts
from encoder.figures.numbers import signed
from encoder.trace import gradual
from pages.base.work import long_work
from pages.components.lazy import expander
from pages.core.stores import results
from pages.core.widgets import answer
from pages.core.words import errors_said, in_columns, number, plain
from pages.state import controlled, state
from pages.texts.params import Params
from pages.texts.subject import Subject

#: Texts to choose from for the second hit.
CHOICES = 50
TABLE_HEIGHT = 260
#: Characters of a phrase.
BRIEF = 32


def two(subject: Subject) -> None:
    """The selected text next to another one, word by word of the query."""
    ranking, place = subject.ranking, subject.place
    if ranking is None or place is None or len(ranking.scores) < 2:
        st.info("Select a text in the list; two texts are needed.")
        return
    if ranking.kind != "cosine":
        st.info(f"The shares of the query’s words are those of a cosine, and this score is {ranking.kind}.")
        return
    others = [one.place for one in ranking.rows if one.place != place][:CHOICES]
    names = {one: f"{ranking.of(one).rank}. {ranking.collection.texts[one][:80]}" for one in others}
    asked = subject.params.against
    other = controlled(  # the first one until another is chosen, also of the next query
        st.selectbox,
        "Compare with",
        others,
        key="texts:against",
        value=asked if asked in others else others[0],
        take=partial(state.put, Params.against),
        format_func=names.__getitem__,
    )
    of_query = subject.of_query()
    if of_query is None:
        return
    model = subject.view.loaded
    found = subject.worked(
        "two", lambda: texts.compare(model, ranking, place, other, of_query, subject.runs), "Compare", other
    )
    if found is None:
        return
    higher = max(found.words, key=lambda row: row[1] - row[2])
    lower = min(found.words, key=lambda row: row[1] - row[2])
    with answer.area():
        answer.draw(
            f"The selected text gains most by **{plain(higher[0])}** ({signed(higher[1] - higher[2])}) and loses most "
            f"by **{plain(lower[0])}** ({signed(lower[1] - lower[2])})."
        )
    left, right = st.columns(2)
    with left:
        _differences("Word of the query", found, found.words)
    with right, errors_said(st.info):
        parts = subject.worked("two-components", lambda: found.components, "Compare components", other)
        if parts is not None:
            _differences("Head, FFN, other component", found, parts)
    for one, lifts in zip((found.first, found.second), found.lifts, strict=True):
        said = ", ".join(f"by {number(effect, 3)} without “**{plain(_short(word))}**”" for word, effect in lifts)
        st.markdown(f"Score of rank {one.rank}: " + (f"falls {said}." if said else "no word raises it."))
    st.caption(
        "In the tables: shares, which add up to the score. In the lines above and in “Words”: what the score loses "
        "without a word. The two measures differ."
    )


def _short(words: str) -> str:
    """A word, or the beginning of a phrase or a sentence."""
    return textwrap.shorten(words, BRIEF, placeholder=" …")


def _differences(what: str, found: texts.TwoHits, rows: Sequence[tuple[str, float, float]]) -> None:
    """The shares of words or components in both cosines, which they add up to."""
    columns = [what, f"Rank {found.first.rank}", f"Rank {found.second.rank} ", "Difference"]
    st.dataframe(
        pd.DataFrame([(name, one, other, one - other) for name, one, other in rows], columns=columns).style.format(
            signed, subset=columns[1:]
        ),
        hide_index=True,
        height=TABLE_HEIGHT,
    )
    scores = round(found.first.score, 4), round(found.second.score, 4)  # so that what is written adds up
    one, other, difference = (number(value, 4) for value in (*scores, scores[0] - scores[1]))
    st.caption(f"The columns add up to {one}, {other} and their difference, {difference}.")


def draw(subject: Subject) -> None:
    """Ten hits with their strongest words, and below them the words that pull everything."""
    ranking = subject.ranking
    if ranking is None:
        st.info("Choose texts to rank.")
        return
    model = subject.view.loaded
    labels = subject.labels
    rows = subject.worked(
        "hits",
        lambda: texts.hit_words(model, ranking, labels=labels, runs=subject.runs),
        "Leave words out",
        labels,
        of_all=True,
    )
    if rows is None:
        return
    table = [
        {
            "Rank": row.ranked.rank,
            "Score": row.ranked.score,
            **({"Label": f"{row.label} (false friend)" if row.false_friend else row.label} if labels else {}),
            "Strongest words": "; ".join(f"{_short(word)} {signed(effect)}" for word, effect in row.strongest),
            "Text": ranking.collection.texts[row.ranked.place],
        }
        for row in rows
    ]
    with answer.area():
        friends = f" Hits with another label than most: **{sum(row.false_friend for row in rows)}**." if labels else ""
        answer.draw(f"Each hit with up to three words without which its score falls most.{friends}")
    st.dataframe(
        pd.DataFrame(table).style.format(number, subset=["Score"]),
        hide_index=True,
    )
    part = expander("Words that pull all texts together", "texts-pulling")
    if part is not None:
        with part, errors_said(st.info):
            _pulling(subject)


def _pulling(subject: Subject) -> None:
    assert subject.ranking is not None
    collection, model = subject.ranking.collection, subject.view.loaded

    def work() -> long_work.Work[list[texts.Pull]]:
        parts = texts.pulling_gradually(model, collection)
        return gradual.reported(parts, lambda done: (done, "Texts without their repeated words"))

    found = results.of_work("texts-pulling", subject.key[:1] + subject.key[3:], work, own=True)
    if found is None:
        return
    if not found:
        st.info("No word is in three of these texts.")
        return
    rows = [(one.words, one.kind, one.effect, one.texts) for one in found]
    effect = "Mean cosine with all texts"
    table = pd.DataFrame(rows, columns=["Words", "Kind", effect, "Texts"])
    st.dataframe(in_columns(table, [effect], 4), hide_index=True)
    st.caption("By how much a repeated word or sentence raises the mean cosine of its text with all other texts.")
