"""Vote, discuss, vote again: the second vote is a question of its own, so the first one stays as it was."""

import hashlib
from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.teaching.questions import Look, Question
from pages.teaching.rooms import Asked, Room, RoomError, ask, session
from pages.teaching.rooms.room import seen_by_class

#: What partners talk about, and then do.
WHY = "why is your answer right? Then answer again."
#: Shares of right answers in a first vote between which students can convince each other: a rule of thumb.
PAYS = (0.3, 0.7)


def again(question: str) -> None:
    """Close the first vote of a question and ask it again, for the discussion. For callbacks."""

    def edit(room: Room) -> Room:
        first = room.question
        if first is None or first.id != question or first.revealed:
            return room
        return ask(room, first.definition, first.view, hides=first.hides, before=first.id)

    session.teach(edit)


def is_discussed(asked: Asked) -> bool:
    """Whether an answer to this question can be discussed."""
    return asked.definition.get("kind") not in ("conclusion", "test")


def may_follow(asked: Asked) -> bool:
    """Whether a second vote may follow: once, before the result, and where an answer can be discussed."""
    return is_discussed(asked) and not (asked.revealed or asked.before)


def first_answers(now: Room, asked: Asked) -> dict[str, str]:
    """The answers of the first vote, by member; empty for a question without one. Raises RoomError."""
    return answers(now, asked.before) if asked.before else {}


def answers(now: Room, question: str) -> dict[str, str]:
    """The answers to a question that the class may see, by member. Raises RoomError."""
    return seen_by_class(now, question, session.answers(now.code, question))


def pairs(first: Mapping[str, str]) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Member -> own number and the partners' numbers. Partners gave different answers where there are enough of them.

    first: the answers of the first vote. The numbers say nothing of an answer. The last of an odd class joins a pair.
    """
    numbers = {one: place for place, one in enumerate(sorted(first, key=_shuffled), 1)}
    ordered = sorted(first, key=lambda one: (first[one], _shuffled(one)))
    half = len(ordered) // 2
    groups = [[ordered[place], ordered[place - half]] for place in range(half)]  # from both ends of the answers
    if len(ordered) % 2 and groups:
        groups[-1].append(ordered[half])
    alone = {one: (numbers[one], ()) for one in ordered}
    return alone | {
        one: (numbers[one], tuple(sorted(numbers[other] for other in group if other != one)))
        for group in groups
        for one in group
    }


def _shuffled(member: str) -> bytes:
    return hashlib.sha256(member.encode()).digest()


def invite(now: Room, asked: Asked, member: str) -> None:
    """Tell a student with whom to discuss."""
    try:
        own, partners = pairs(first_answers(now, asked)).get(member, (0, ()))
    except RoomError:
        own, partners = 0, ()
    if partners:
        named = " and ".join(f"**{number}**" for number in partners)
        with_whom = f"You are number **{own}**. Discuss with number {named}, or with your neighbour"
    else:
        with_whom = "Discuss with a neighbour, or join any pair"
    st.markdown(f":material/forum: {with_whom}: {WHY}")


def share_right(question: Question, look: Look | None, answers: Mapping[str, Any]) -> float | None:
    """The share of right answers; None where nothing is computed, or nobody has answered."""
    found = [question.is_right(one, look) for one in answers.values()]
    return None if not found or None in found else sum(map(bool, found)) / len(found)


def moved(first: Mapping[str, Any], second: Mapping[str, Any]) -> float | None:
    """The share of those who voted twice and changed their answer; None if nobody voted twice."""
    both = first.keys() & second.keys()
    return sum(first[one] != second[one] for one in both) / len(both) if both else None


def advice(right: float) -> str:
    """What a first vote suggests to the teacher."""
    if right < PAYS[0]:
        return "Few are right: explain first, then ask again."
    return "Discussion pays." if right <= PAYS[1] else "Most are right: show the result."
