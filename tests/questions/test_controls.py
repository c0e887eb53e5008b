"""What a person types as a number."""

from __future__ import annotations

import pytest

from pages.teaching.questions.controls import read_number


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
