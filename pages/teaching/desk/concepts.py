"""The concept test on the teacher's desk: asked before and after, with its gain and its export."""

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from pages.components.button import button
from pages.core.words import references
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, concept_test, misconceptions, read_question
from pages.teaching.rooms import Asked, Room, ask, session
from pages.teaching.rooms.store import late_answers
from pages.teaching.stage import results

#: What the students read above the items.
ASK = "Ten questions about attention. Choose one answer for each; the result has no mark and no name."


def draw(now: Room, refresh: Callable[[Room, str], None]) -> None:
    """Buttons that ask a form, and what both gave. refresh: draws a part again when an answer comes."""
    asked = _asked(now)
    with st.container(horizontal=True):
        for form, when in concept_test.FORMS.items():
            button(
                f"Ask form {form}, {when} the lesson",
                "assignment",
                f"desk:test:{form}",
                partial(_ask, form),
                disabled=form in asked,
            )
    if asked:
        _figures(refresh)


@st.fragment
def _figures(refresh: Callable[[Room, str], None]) -> None:
    if (now := session.room()) is None:
        return
    refresh(now, "test")
    asked, look = _asked(now), look_of({})
    answers = _answers(now, asked, look)
    for form, given in answers.items():
        st.caption(f"Form {form}: {len(given)} students")
    before, after = concept_test.both(answers, look)
    found = concept_test.normalised_gain(before.mean(axis=1), after.mean(axis=1)) if len(before) else None
    if found is not None:
        references.markdown(
            f"Normalised gain (Hake 1998): **{found.gain:.2f}**, 95% interval {found.low:.2f} to {found.high:.2f}. "
            f"Right before: {found.before:.0%}, after: {found.after:.0%}, of {found.n} students who took both forms. "
            "One class without a comparison group does not show what caused a gain."
        )
    rows = concept_test.by_misconception(answers)
    st.dataframe(
        [{**row, "misconception": misconceptions.BY_ID[row["misconception"]].belief} for row in rows],
        hide_index=True,
        column_config={when: st.column_config.NumberColumn(format="percent") for when in concept_test.FORMS.values()},
    )
    members = [*session.members(now.code)]
    with st.container(horizontal=True):
        _download("Concept test as CSV", "test", concept_test.as_csv(answers, look, members), now)
        _download("Codebook", "codebook", concept_test.codebook(look), now)


def _download(label: str, name: str, content: bytes, now: Room) -> None:
    st.download_button(label, content, f"room-{now.code}-{name}.csv", "text/csv", key=f"desk:{name}", on_click="ignore")


def _ask(form: str) -> None:
    definition = {"kind": "test", "ask": ASK, "form": form, "look": True}
    session.teach(lambda room: ask(room, definition, {}, hides=True))


def _asked(now: Room) -> dict[str, Asked]:
    """The newest test of each form."""
    open_one = [now.question] if now.question else []
    return {one.definition["form"]: one for one in (*now.past, *open_one) if one.definition.get("kind") == "test"}


def _answers(now: Room, asked: dict[str, Asked], look: Look) -> dict[str, dict[str, Any]]:
    """The answers to each form. No result is ever shown, so an answer that came late counts, too."""
    late, in_time = late_answers(session.store(), now.code), session.answers
    return {
        form: results.read(read_question(one.definition), look, late.get(one.id, {}) | in_time(now.code, one.id))
        for form, one in sorted(asked.items())
    }
