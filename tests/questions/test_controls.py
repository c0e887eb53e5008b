"""What a person types as a number, and what she reads where it is none."""

from __future__ import annotations

import re

import pytest

from pages.core.frame.frame import import_params
from pages.teaching.lessons import library
from pages.teaching.questions import QuestionError
from pages.teaching.questions.controls import number_of, read_number
from pages.teaching.questions.kinds import NumberQuestion


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0,25", 0.25), ("0,125", 0.125), (",5", 0.5), ("-0,001", -0.001), ("1,024", 1024), ("1 024", 1024),
        ("1\u202f024", 1024), ("1’024", 1024), ("1.024", 1.024), ("1.024,5", 1024.5), ("1,024.5", 1024.5),
        ("22.713.216", 22_713_216), ("22,713,216", 22_713_216), ("22,7e6", 22.7e6), ("22,713E6", 22.713e6),
        ("4e8", 4e8), ("4 x 10^8", 4e8), ("4·10^8", 4e8), ("−3", -3), ("90%", 0.9), ("86,5 %", 0.865), ("2/3", 2 / 3),
        *[(text, None) for text in ("", "banana", "nan", "inf", "1e999", "1/0", "/", "%", "e5", "1..2e")],
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert read_number(text) == (None if number is None else pytest.approx(number, rel=1e-15))


def test_no_example_of_a_question_or_a_refusal_is_a_right_answer() -> None:
    import_params()
    steps = [step for language in ("", "es") for one in library.lessons(language)[0] for step in one.steps]
    refused = 0
    for question, view in ((step.question, step.view) for step in steps):
        if not isinstance(question, NumberQuestion):
            continue
        low, high = question.accepted(question.truth(library.look_of(view)))
        said = re.findall(r"(?:for example|por ejemplo) ([^)]+)", question.ask)
        for typed in ("five", "5", "-0.1"):
            try:
                number_of(question, typed)
            except QuestionError as error:
                refused += 1
                said += re.findall(r"[-\d.]*\d%?", str(error).replace("enter 0 to 1", ""))
        assert not [one for one in said if low <= (read_number(one) or 0) <= high], question.ask
    assert refused > 30
