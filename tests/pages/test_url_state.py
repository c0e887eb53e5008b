"""Params: what they take from a link, and the sentence for what they do not."""

from __future__ import annotations

import pytest

from pages.shared import url_state
from pages.shared.view import EXAMPLES, PARAMS


@pytest.mark.parametrize(
    ("param", "text", "value"),
    [
        (url_state.whole_number("n", 0), "7", 7),
        (url_state.whole_number("n", 0, 1, 24), "24", 24),
        (url_state.choice("c", "a", ("a", "b")), "b", "b"),
        (url_state.flag("f"), "1", True),
        (url_state.flag("f"), "0", False),
    ],
)
def test_values_are_read_and_written_alike(param: url_state.Param, text: str, value: object) -> None:
    assert param.parse(text) == value
    assert param.format(value) == text


@pytest.mark.parametrize(
    ("param", "text", "reason"),
    [
        (url_state.whole_number("n", 0), "seven", "a whole number is needed"),
        (url_state.whole_number("n", 0), "1.5", "a whole number is needed"),
        (url_state.whole_number("n", 0), "٣", "a whole number is needed"),
        (url_state.whole_number("n", 0), "9" * 400, "a whole number is needed"),
        (url_state.whole_number("n", 0), "-1", "it must be 0 or more"),
        (url_state.whole_number("n", 0, 1, 24), "25", "between 1 and 24"),
        (url_state.choice("c", "a", ("a", "b")), "z", "choose one of a, b"),
        # exBERT read every text as true: `truthy(...) or True`.
        (url_state.flag("f"), "false", "1 means on, 0 means off"),
    ],
)
def test_a_bad_value_has_a_reason(param: url_state.Param, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        param.parse(text)


def test_defaults_survive_their_own_writing() -> None:
    for param in PARAMS:
        if param.default is not None:
            assert param.parse(param.format(param.default)) == param.default


def test_names_are_distinct() -> None:
    assert len({param.name for param in PARAMS}) == len(PARAMS)


def test_every_example_differs() -> None:
    assert len(set(EXAMPLES.values())) == len(EXAMPLES)
