"""What of its members a class sees: a typed answer, also on the wall, a nickname, a member."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import streamlit as st

from pages.base.access import limits
from pages.components.button import button
from pages.core.words.markdown import plain
from pages.teaching.questions import Look, Question
from pages.teaching.rooms import Asked, Member, Room, session
from pages.teaching.rooms.room import answer_mark, seen_by_class, wall_mark
from pages.teaching.stage import results

#: Kinds whose answers are texts of students.
TYPED = ("conclusion", "sentence")


def answers(now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    """Each typed answer with its author, and buttons: one hides it from every screen, one puts it on the wall."""
    if question.kind not in TYPED:
        return
    given = session.answers(now.code, asked.id)
    authors = results.authors(session.members(now.code), given)
    shown = seen_by_class(now, asked.id, given)
    if given:
        st.caption("The wall shows no answer by itself: put some there for the result.")
    for member, text in results.read(question, look, given).items():
        hides, mark = member in shown, answer_mark(asked.id, member)
        with st.container(horizontal=True, vertical_alignment="center"):
            said = f"**{plain(authors[member])}**: {plain(text)}"
            st.markdown(said if hides else f"{said} (hidden)")
            label, icon = ("Hide", "visibility_off") if hides else ("Show again", "visibility")
            button(label, icon, f"desk:{mark}:{int(hides)}", partial(_mark, mark, hides))
            if hides:
                on_wall = wall_mark(asked.id, member)
                puts = on_wall not in now.hidden
                label, icon = ("Put on the wall", "cast") if puts else ("Take off the wall", "cancel_presentation")
                button(label, icon, f"desk:{on_wall}:{int(puts)}", partial(_mark, on_wall, puts))


def _mark(mark: str, is_set: bool) -> None:
    """Set a mark of an answer in the room, as the last one, or remove it."""

    def edit(room: Room) -> Room:
        others = tuple(one for one in room.hidden if one != mark)
        return replace(room, hidden=(*others, mark) if is_set else others)

    session.teach(edit)


def names(members: Mapping[str, Member], *, named: bool) -> None:
    """Everybody who joined; one of them can get another nickname, or be removed. named: whether there are nicknames."""
    labels = results.authors(members)
    with st.expander("Names" if named else "Members"):
        if named:
            st.markdown(", ".join(plain(one) for one in sorted(labels.values(), key=str.casefold)))
        chosen = st.selectbox(
            "Member",
            sorted(labels, key=lambda one: labels[one].casefold()),
            index=None,
            key="desk:member",
            format_func=lambda one: labels.get(one, ""),
            placeholder="Choose a member",
        )
        if chosen not in members:
            return
        if named:
            st.text_input("New nickname", key=f"desk:nickname:{chosen}", max_chars=limits.NICKNAME.value)
            button("Rename", "edit", "desk:rename", partial(_rename, members[chosen]))
        button(
            "Remove from the room",
            "person_remove",
            "desk:remove",
            partial(session.attempt, session.remove, chosen),
            help="The answers stay in the table. Who is removed can join again with the code.",
        )


def _rename(member: Member) -> None:
    session.attempt(session.rename, member, st.session_state.get(f"desk:nickname:{member.id}", ""))
