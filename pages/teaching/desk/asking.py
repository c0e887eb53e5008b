"""A question made on the spot, about the view that the class sees."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from encoder.errors import EncoderError
from pages.components.button import button
from pages.core.words.markdown import say_error
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, read_question
from pages.teaching.rooms import Room, ask, session

#: Kind -> title, and the words of a new question.
KINDS = {
    "token": (
        "Which token?",
        "To which other word, apart from special tokens and punctuation, does “{query}” attend most in {place}?",
    ),
    "head": ("Which head?", "In which head of layer {layer} does “{query}” attend most to “{key}”?"),
    "number": ("How large?", "How large is the weight from “{query}” to “{key}” in {place}?"),
    "draw": ("Draw the row", "Draw what “{query}” attends to in {place}."),
    "choice": ("Multiple choice", ""),
}
#: Options of a new poll.
OPTIONS = "Yes\nNo\nIt depends"


def form(now: Room) -> None:
    """Choose kind, tokens and words of a question, and ask it."""
    kind = st.pills(
        "Kind", KINDS, format_func=lambda one: KINDS[one][0], key="ask:kind", default="token", required=True
    )
    try:
        definition = _poll() if kind == "choice" else _about(kind, look_of(now.view), now.view)
        read_question(definition)
    except EncoderError as error:
        say_error(error, st.info, icon=None)
        return
    hides = kind != "choice" and st.toggle(
        "Hide the page until the result", value=True, key="ask:hides", help="Everybody predicts before they see it."
    )
    button(
        "Ask the class",
        "send",
        "ask:go",
        partial(put, definition, now.view, hides),
        type="primary",
        disabled=not definition["ask"].strip(),
    )


def put(definition: Mapping[str, Any], view: Mapping[str, str], hides: bool) -> None:
    """Ask the class. For callbacks."""
    session.teach(lambda room: ask(room, definition, view, hides=hides))


def _poll() -> dict[str, Any]:
    words = st.text_input("Question", key="ask:poll", max_chars=300)
    typed = st.text_area("Options, one a line", OPTIONS, key="ask:options", height=96, max_chars=1000)
    options = [line.strip() for line in typed.splitlines() if line.strip()]
    right = st.selectbox(
        "Right option",
        range(len(options)),
        index=None,
        key=f"ask:right:{options}",
        format_func=lambda at: options[at],
        placeholder="None: a poll",
        help="The result then says who is right, as that of a lesson’s question.",
    )
    return {"kind": "choice", "ask": words, "options": options, "look": True, "right": right}


def _about(kind: str, look: Look, view: Mapping[str, str]) -> dict[str, Any]:
    labels, place = look.names, f"L{look.layer} H{look.head}"

    def token(label: str, name: str, otherwise: int) -> int:
        chosen = int(view[name]) if view.get(name, "").isdigit() else otherwise
        return st.selectbox(
            label,
            range(len(labels)),
            index=min(chosen, len(labels) - 1),
            key=f"ask:{name}:{look.text}",
            format_func=lambda at: labels[at],
        )

    query = token("Query token", "i", 1)
    key = token("Key token", "j", 1) if kind in ("head", "number") else 0
    words = KINDS[kind][1].format(query=labels[query], key=labels[key], place=place, layer=look.layer)
    # Another kind or token gets its own words; what the teacher typed stays for this one.
    asked: dict[str, Any] = {
        "kind": kind,
        "ask": st.text_input("Words", words, key=f"ask:words:{words}", max_chars=300),
    }
    if kind in ("token", "draw"):
        return asked | {"query": query}
    asked |= {"quantity": {"weight": {"query": query, "key": key}}}
    return asked | ({"layer": look.layer} if kind == "head" else {"within": 0.05})
