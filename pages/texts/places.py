"""Long texts: what counts, and where."""

import pandas as pd
import streamlit as st

from encoder import texts
from encoder.figures.search import place_curve
from encoder.trace import gradual
from pages.base.work import long_work
from pages.components import plot
from pages.components.lazy import expander
from pages.core.stores import results
from pages.core.widgets import answer
from pages.core.words import errors_said, in_columns, number, plain, references
from pages.texts.subject import Subject

#: Texts of a collection whose places are measured, evenly spaced.
MOST_TEXTS = 50


def draw(subject: Subject) -> None:
    """The curve of effect over place of the selected text, its passages, and advice on chunks."""
    model, text = subject.view.loaded, subject.text

    def work() -> long_work.Work[texts.PositionSensitivity]:
        parts = texts.position_sensitivity_gradually(model, text)
        return gradual.reported(parts, lambda done: (done, "Leave out and move sentences"))

    found = results.of_work("texts-places", (subject.view.model, text), work, own=True)
    if found is None:
        return
    with answer.area():
        answer.draw(_said(found), _index(found))
        plot(
            place_curve(found.places, found.effect, found.low, found.high),
            key="texts-places",
            height=320,
            alt="The mean effect of leaving out a passage, over its place in the text, with its 95% interval.",
        )
    if found.cut_at:
        st.error(f"The model uses this text up to “{plain(found.cut_at)}”. What follows counts nothing.")
    effect = "1 − cosine without it"
    passages = pd.DataFrame(found.passages, columns=["Passage", effect])
    st.dataframe(in_columns(passages, [effect], 4), hide_index=True)
    references.caption(
        f"{found.n_runs} passages were left out: each once at each place, to compare it with itself at other places. "
        "Means are geometric. The index is 1 minus the smallest mean effect divided by the largest (after Zeng "
        "et al. 2025)."
    )
    if subject.ranking is not None and len(subject.ranking.scores) > 1:
        part = expander("The same over all texts", "texts-places-all")
        if part is not None:
            with part, errors_said(st.info):
                _of_all(subject)


def _of_all(subject: Subject) -> None:
    """The index of the model over MOST_TEXTS of the collection, of which those of three sentences count."""
    assert subject.ranking is not None
    model, given = subject.view.loaded, subject.ranking.collection.texts
    measured = given[:: -(-len(given) // MOST_TEXTS)]
    which = f"all {len(given):,} texts"
    if len(measured) < len(given):
        which = f"{len(measured):,} of {len(given):,} texts, evenly spaced"

    def work() -> long_work.Work[texts.PositionSensitivity]:
        parts = texts.position_sensitivity_gradually(model, measured)
        return gradual.reported(parts, lambda done: (done, f"Leave out and move sentences of {which}"))

    found = results.of_work("texts-places-of-all", subject.key[:1] + subject.key[3:], work, own=True)
    if found is None:
        return
    st.markdown(f"Of {which}, those of three sentences or more: {found.n_texts:,}. {_said(found)}")
    st.caption(_index(found))
    plot(
        place_curve(found.places, found.effect, found.low, found.high),
        key="texts-places-of-all",
        height=260,
        alt=f"The mean effect of leaving out a passage, over its place, in {which}, with its 95% interval.",
    )


def _index(found: texts.PositionSensitivity) -> str:
    """The index, and what it reaches by chance."""
    return (
        f"Position Sensitivity Index: {number(found.index, 2)}. If places count alike, chance gives up to "
        f"{number(found.by_chance, 2)} (in 95% of draws)."
    )


def _said(found: texts.PositionSensitivity) -> str:
    """The beginning against the end, and what that suggests for chunks where it is certain."""
    low, high = found.of_ends
    interval = f"95% interval: {number(low, 2)} to {number(high, 2)}"
    which = "this text" if found.n_texts == 1 else "these texts"
    said = (
        f"The beginning of {which} counts **{number(found.first_over_last, 2)}** times as much as the end ({interval})"
    )
    if not found.is_certain:
        return f"{said}. The interval includes 1, so {which} cannot tell whether beginning or end counts more."
    more, less = ("beginning", "end") if found.first_over_last > 1 else ("end", "beginning")
    if found.level in ("word", "phrase"):  # a chunk has sentences
        return f"{said}. Its passages are {found.level}s, so this says nothing about chunks of long texts."
    return f"{said}. This suggests chunks that have their main sentence at the {more}, not at the {less}."
