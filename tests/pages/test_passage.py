"""The text of a trace in pieces, and numbers as they are written."""

from __future__ import annotations

import pytest

from encoder.maps import aggregate
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


def test_cut_text_has_an_ellipsis() -> None:
    trace = tiny(max_positions=6).trace("the cat sat on a mat and a dog ran to a big red bus, the bank")
    units, _ = aggregate.token_groups(trace)
    (pieces,) = passage(trace, units).paragraphs
    texts = [text for text, _ in pieces]
    assert "".join(texts).endswith("the cat sat on … [SEP] ")
