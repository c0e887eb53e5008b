"""The question that a room answers, as a value."""

from pages.teaching.lessons.library import look_of
from pages.teaching.questions import Look, Question, read_question
from pages.teaching.questions.kinds import HeadQuestion, NumberQuestion, TokenQuestion
from pages.teaching.questions.open_kinds import DrawQuestion
from pages.teaching.rooms import Asked


def read(asked: Asked) -> tuple[Question, Look | None]:
    """The question, and the text, model and head that it is about: None for a poll. Raises EncoderError."""
    question = read_question(asked.definition)
    return question, None if question.kind == "choice" else look_of(asked.view)


def sentence(question: Question, look: Look | None) -> str:
    """The text whose tokens or heads a question asks about, which nothing else on the screen shows; "" without one."""
    if look is None or look.trace.kind != "text":
        return ""
    if isinstance(question, NumberQuestion | HeadQuestion):
        asked = question.asked
        is_about = "query" in asked.arguments or asked.quantity.name == "head_measure"
        return look.about(asked.arguments.get("text")).text if is_about else ""
    return look.text if isinstance(question, TokenQuestion | DrawQuestion) else ""
