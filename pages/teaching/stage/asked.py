"""The question that a room answers, as a value, and the sentences that it is about."""

import difflib
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pages.teaching.lessons import progress
from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, read_question
from pages.teaching.questions.open_kinds import ChoiceQuestion
from pages.teaching.questions.quantities import OF_NO_TEXT, QUANTITIES
from pages.teaching.rooms import Asked, Room

#: Kinds that are about no text, or ask for one.
WITHOUT = ("choice", "gesture", "sentence", "test")
#: Pages that show no text of the reader's.
NO_TEXT = ("training", "by_hand", "lessons", "classroom", "glossary")
#: Punctuation around a word.
MARKS = ".,;:!?…()[]“”‘’\"'«»¿¡"
#: Letters of a text that a question shows.
MOST_LETTERS = 200


def read(asked: Asked) -> tuple[Question, Look | None]:
    """The question, and the text, model and head that it is about: None for a poll. Raises EncoderError."""
    question = read_question(asked.definition)
    is_poll = isinstance(question, ChoiceQuestion) and question.right is None
    return question, None if is_poll else look_of(asked.view)


def prose_of(asked: Asked) -> str:
    """The text of the open lesson's step that asks this question, as Markdown; "" for a question of a teacher."""
    opened = progress.current()
    of = opened.step.question if opened is not None else None
    return opened.step.prose if opened and of and of.ask == asked.definition.get("ask") else ""


def had_result(now: Room, question: Question) -> bool:
    """Whether the class has seen the result of a question that is closed now."""
    return any(one.revealed and one.definition.get("ask") == question.ask for one in now.past)


def sentences(asked: Asked, question: Question, look: Look | None) -> list[list[tuple[str, bool]]]:
    """The texts that a question is about, which nothing else on the screen shows: of its view, and of its numbers.

    Each is a list of words, with whether the first text has another one in its place.
    """
    if look is None or look.trace.kind != "text" or question.kind in WITHOUT:
        return []
    numbers, texts = set(), []
    for name, value in named_values(question.definition()):
        if name in QUANTITIES:
            numbers.add(name)
        elif name == "text" and isinstance(value, str) and " " in value:
            texts.append(value)
    if numbers and numbers <= OF_NO_TEXT:
        return []
    own = "" if asked.view.get("page") in NO_TEXT else look.text
    both = [own, asked.view.get("text_b", ""), *texts]
    found = [one for one in dict.fromkeys(both) if one and one.rstrip(".") not in question.ask]
    shown = [textwrap.shorten(one, MOST_LETTERS, placeholder=" …").split() for one in found]
    return [_marked(shown[0], one) for one in shown]


def named_values(value: Any) -> Iterator[tuple[str, Any]]:
    """All fields of a definition, with those inside of them."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield name, one
            yield from named_values(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from named_values(one)


def _marked(first: list[str], words: list[str]) -> list[tuple[str, bool]]:
    """The words, with whether they are new. A full stop makes no other word: “bank.” is “bank”."""
    kept = set()
    bare = [[word.strip(MARKS) or word for word in one] for one in (first, words)]
    for block in difflib.SequenceMatcher(None, *bare, autojunk=False).get_matching_blocks():
        kept.update(range(block.b, block.b + block.size))
    return [(word, place not in kept) for place, word in enumerate(words)]
