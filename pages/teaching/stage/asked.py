"""The question that a room answers, as a value."""

from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, read_question
from pages.teaching.rooms import Asked


def read(asked: Asked) -> tuple[Question, Look | None]:
    """The question, and the text, model and head that it is about: None for a poll. Raises EncoderError."""
    question = read_question(asked.definition)
    return question, None if question.kind == "choice" else look_of(asked.view)
