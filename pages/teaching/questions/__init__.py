"""Questions whose answer is computed: for lessons, and for a room."""

from pages.teaching.questions import (  # noqa: F401 - register the kinds
    concept_test,
    gestures,
    kinds,
    open_kinds,
)
from pages.teaching.questions.quantities import QUANTITIES, Look, QuestionError
from pages.teaching.questions.question import KINDS, Grade, Question, Truth, read_answer, read_question

__all__ = ["KINDS", "QUANTITIES", "Grade", "Look", "Question", "QuestionError", "Truth", "read_answer", "read_question"]
