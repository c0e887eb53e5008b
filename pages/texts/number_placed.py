"""The score of the selected text, and its place among random pairs."""

import textwrap

import numpy as np
import streamlit as st

from encoder import scores
from encoder.probe import examples
from pages.core.inputs import unknown_words
from pages.core.stores import cache
from pages.core.words import number, plain
from pages.state import state
from pages.texts import sources
from pages.texts.listed import marked
from pages.texts.params import Params
from pages.texts.subject import Subject

#: Texts of the bundled collection whose random pairs are compared.
BUNDLED_TEXTS = 400
#: Characters of a text below the parts, and in the line above them.
BRIEF, NAME = 160, 60


def draw(subject: Subject) -> None:
    """The score and its place among random pairs, in one line, and what was cut."""
    why = subject.why
    ranking = None if subject.place is None else subject.ranking  # in which the text is
    score = f"{why.kind} **{number(why.score, 4)}**"
    said = f"{score[0].upper()}{score[1:]}"
    if ranking is not None and subject.place is not None:
        rank = f"rank **{ranking.of(subject.place).rank}** of {len(ranking.scores):,}"
        said = f"“**{plain(_brief(subject.text, NAME))}**”, {rank}: {score}"
    elif subject.given is None:  # a text that is in no list
        said = f"“**{plain(_brief(subject.text, NAME))}**”: {score}"
    if ranking is not None and subject.given is None and ranking.usual is not None:
        usual, best = ranking.usual, number(ranking.rows[0].score, 4)
        none = st.container(key="texts-none")  # page.css
        none.markdown(
            f"**None stands out**: the best cosine, {best}, is not above what 90% of the pairs of "
            f"{_whose(subject)} have ({number(usual.low, 2)} to {number(usual.high, 2)}). Limit: where the texts "
            "are alike, this bound is high."
        )
    elif why.place is not None and why.place.is_narrow:
        st.container(key="texts-none").markdown(
            f"**Ranks mean little here**: 90% of the pairs of {_whose(subject)} have cosines from "
            f"{number(why.place.low, 3)} to {number(why.place.high, 3)}."
        )
    with st.container(horizontal=True, vertical_alignment="center", key="texts-score"):
        st.markdown(f"{said}{_placed(subject)}.", width="content")
        if subject.place is not None and ranking is not None and subject.given is None:
            _mark(subject, subject.place)
    for name, side in zip(("query", "text"), why.source.sides, strict=True):
        if side.cut_at:
            st.warning(
                f"The {name} is longer than {subject.view.loaded.name} accepts. The model uses it up to "
                f"“{plain(side.cut_at)}”.",
                icon=":material/content_cut:",
            )
    _unknown(subject)


def _unknown(subject: Subject) -> None:
    """A sentence about words of query and text that the tokenizer does not know."""
    read = [(side.model, side.sentence) for side in subject.why.source.sides if side.sentence is not None]
    if read and (said := unknown_words.of_sources([sentence for _, sentence in read], read[0][0])):
        st.info(plain(said), icon=":material/unknown_document:")


def _brief(text: str, most: int = BRIEF) -> str:
    """A text on one line, cut where it is long."""
    return textwrap.shorten(text, most, placeholder=" …")


def _mark(subject: Subject, place: int) -> None:
    matches = marked(subject.params, len(subject.ranking.scores) if subject.ranking else 0)
    is_match = place in matches
    kept = [one for one in matches if one != place] if is_match else sorted({*matches, place})
    st.button(
        "Not a match" if is_match else "Mark as a match",
        icon=":material/check_circle:",
        key="texts:match",
        type="tertiary",
        on_click=lambda: state.put(Params.matches, ",".join(map(str, kept))),
    )


def _placed(subject: Subject) -> str:
    """Above how many pairs, for the end of the sentence."""
    place = subject.why.place
    if place is None:
        return ""
    return f", above {place.share} of {_whose(subject)}"


def _whose(subject: Subject) -> str:
    return "the example texts" if subject.is_bundled else "your texts"


def draw_compared(subject: Subject) -> None:
    """Both texts, and other numbers that the score compares with."""
    why = subject.why
    said = [f"*{plain(_brief(subject.query))}* → *{plain(_brief(subject.text))}*"]
    if why.place is not None:
        said.append(
            f"90% of the pairs of {_whose(subject)}: {number(why.place.low, 2)} to {number(why.place.high, 2)}."
        )
    if why.kind == "cosine" and subject.given is None:
        usual = _bundled(subject)
        if usual is not None:
            said.append(f"More alike than {scores.place(why.score, usual).share} of WordNet’s examples.")
    if subject.ranking is not None and subject.given is None:
        lowest = subject.ranking.lowest_match(marked(subject.params, len(subject.ranking.scores)))
        if lowest is not None:
            said.append(f"Lowest score of a match: {number(lowest, 3)}.")
    st.caption(" ".join(said))


def _bundled(subject: Subject) -> np.ndarray | None:
    """Cosines of random pairs of the bundled collection, computed once for each model; None: not computed now."""
    view, given = subject.view, sources.Given(examples()[:BUNDLED_TEXTS], is_bundled=True)
    collection = sources.embedded(view, view.loaded, given, "texts-usual")
    if collection is None:
        return None
    found: np.ndarray = cache.computed(("texts-bundled", view.model), lambda: scores.random_cosines(collection))
    return found
