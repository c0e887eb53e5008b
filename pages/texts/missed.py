"""Why a text was not found: words of the query that nothing in it answers, and edits that would move it."""

import pandas as pd
import streamlit as st

from encoder import texts
from encoder.figures.numbers import signed
from pages.core.widgets import answer
from pages.core.words import number, plain
from pages.texts.subject import Subject

#: Edits of the table.
EDITS = 12


def draw(subject: Subject) -> None:
    """Rank, unanswered words and edits of the selected text."""
    ranking, place = subject.ranking, subject.place
    if ranking is None or place is None:
        st.info("Select a text in the list: the one that you expected to find.")
        return
    of_query = subject.of_query()
    if of_query is None and ranking.kind == "cosine":
        return  # cancelled
    model = subject.view.loaded
    found = subject.worked(
        "missed", lambda: texts.why_not_found(model, ranking, place, of_query, subject.runs), "Try edits"
    )
    if found is None:
        return
    words = ", ".join(f"**{plain(word)}**" for word in found.unanswered) or "none"
    function = ", ".join(plain(word) for word in found.left_out)
    left_out = f" Function words, not listed: {function}." if function else ""
    first = " It was found first: select the text that you expected here." if found.ranked.rank == 1 else ""
    with answer.area():
        answer.draw(
            f"Rank {found.ranked.rank} of {len(ranking.scores):,}.{first}",
            f"{found.said}: {words}.{left_out}",
        )
    left, right = st.columns(2)
    with left:
        is_cosine = found.kind == "cosine"
        value = "Share less the mean text’s" if is_cosine else f"{found.kind} lost without it"
        st.markdown("**What the text answers**")
        st.dataframe(
            pd.DataFrame(found.answers, columns=["Word of the query", value]).style.format(signed, subset=[value]),
            hide_index=True,
        )
        if is_cosine:
            total = number(sum(share for _, share in found.answers))
            st.caption(f"They add up to this text’s cosine minus the mean cosine of all texts: {total}.")
        else:
            st.caption(f"Each row is a run without this word. The rows do not add up to {found.kind}.")
    with right:
        st.markdown("**What would move it**")
        rows = [
            ("add" if one.what == "in" else "leave out", one.word, one.score, one.rank) for one in found.edits[:EDITS]
        ]
        st.dataframe(
            pd.DataFrame(rows, columns=["Edit", "Words", "Score", "Rank"]).style.format(number, subset=["Score"]),
            hide_index=True,
        )
        st.caption("Each edited text was run. A word of the query is added at the end.")
