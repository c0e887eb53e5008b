"""The text of a trace in pieces, and numbers as they are written."""

from __future__ import annotations

import pytest

from encoder.figures.numbers import three_digits
from encoder.measure import aggregate
from encoder.measure.passage import passage
from tests.engine.conftest import tiny

TEXTS = ["the unhappy cat sat.", " the  cat\nsat !  ", "שלום the cat", "a", "", "🙂 dog", "un"]


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("pair", [None, "a dog ran, and  ran"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_are_the_text_as_typed(text: str, pair: str | None, words: bool) -> None:
    trace = tiny(n_segments=2).trace(text, pair)
    units, _ = aggregate.token_groups(trace, words=words)
    found = passage(trace, units)
    said = [unit for paragraph in found.paragraphs for _, unit in paragraph if unit >= 0]
    assert said == list(range(len(units)))
    for typed, paragraph in zip((text, pair), found.paragraphs, strict=False):
        own = "".join(piece for piece, unit in paragraph if unit not in found.special)
        assert typed.strip() in own
        assert own.split() == typed.split()
    assert [trace.tokens[units[unit][0]] for unit in found.special][:1] == ["[CLS]"]


def test_a_word_of_several_pieces_is_one_unit_or_several() -> None:
    trace = tiny().trace("the unhappy cat")
    for words, expected in ((True, ["the", "unhappy", "cat"]), (False, ["the", "un", "happ", "y", "cat"])):
        units, _ = aggregate.token_groups(trace, words=words)
        found = passage(trace, units)
        assert [text for text, unit in found.paragraphs[0] if unit >= 0 and unit not in found.special] == expected


def test_what_was_cut_is_told() -> None:
    trace = tiny(max_positions=6).trace("the cat sat on a mat and a dog ran to a big red bus, the bank")
    units, _ = aggregate.token_groups(trace)
    (pieces,) = passage(trace, units).paragraphs
    texts = [text for text, _ in pieces]
    assert "".join(texts).endswith("the cat sat on … [SEP] ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1844, "0.184"),
        (0.00245, "0.00245"),
        (0.5, "0.5"),
        (1.0, "1"),
        (0.0, "0"),
        (0.0000245, "0.0000245"),
        (1.234e-7, "1.23e-7"),
        (1.2e-12, "1.2e-12"),
        (0.9996, "1"),
        (1234.5, "1230"),
        (2.0, "2"),
        (float("nan"), "no value"),
    ],
)
def test_three_digits_that_count(value: float, text: str) -> None:
    assert three_digits(value) == text
