"""Alignment of two token sequences: steps, labels and properties that hold for any two sequences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import encoder
from encoder.measure import align

RIVER, MONEY = "We sat on the bank of the river.", "We took the money to the bank."


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


@pytest.fixture(scope="module")
def pair(minilm: encoder.TextEncoder) -> tuple[encoder.Trace, encoder.Trace]:
    return minilm.trace(RIVER), minilm.trace(MONEY)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "axc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "ac", [(0, 0), (1, None), (2, 1)]),
        ("ac", "abc", [(0, 0), (None, 1), (1, 2)]),
        ("abcd", "axd", [(0, 0), (1, None), (2, None), (None, 1), (3, 2)]),
        ("aaa", "aa", [(0, 0), (1, 1), (2, None)]),
        ("ab", "cd", [(0, 0), (1, 1)]),
        ("", "ab", [(None, 0), (None, 1)]),
        ("", "", []),
    ],
)
def test_steps_of_an_alignment(first: str, second: str, expected: list[tuple[int | None, int | None]]):
    found = align.align(first, second)
    assert list(zip(found.first, found.second, strict=True)) == expected
    for one, other, kind in zip(found.first, found.second, found.kinds, strict=True):
        if one is None or other is None:
            assert kind == ("second" if one is None else "first")
        else:
            assert kind == ("same" if first[one] == second[other] else "replaced")


def test_repeated_words_have_their_positions_on_either_side():
    first, second = "the bank of the river".split(), "the money of the new bank the".split()
    steps = align.align(first, second)
    labels = ["the", "bank | money", "of", "the", "river", "new", "bank", "the"]
    assert steps.first == (0, 1, 2, 3, 4, None, None, None)
    told = align.disambiguate(labels, steps)
    assert told == ("the (0)", "bank | money", "of", "the (3)", "river", "new", "bank", "the (– | 6)")
    moved = align.align("xaba", "aba")
    assert align.disambiguate(["x", "a", "b", "a"], moved) == ("x", "a (1 | 0)", "b", "a (3 | 2)")


SEQUENCES = st.lists(st.sampled_from("abcd"), max_size=14)


@given(SEQUENCES, SEQUENCES)
def test_the_steps_cover_both_sequences_in_order(first: list[str], second: list[str]):
    found = align.align(first, second)
    assert [token for token in found.first if token is not None] == list(range(len(first)))
    assert [token for token in found.second if token is not None] == list(range(len(second)))
    for one, other, kind in zip(found.first, found.second, found.kinds, strict=True):
        expected = "second" if one is None else "first" if other is None else None
        assert kind == (expected or ("same" if first[one] == second[other] else "replaced"))


@given(SEQUENCES, SEQUENCES)
def test_swapping_the_sequences_mirrors_the_alignment(first: list[str], second: list[str]):
    found, swapped = align.align(first, second), align.align(second, first)
    mirror = {"same": "same", "replaced": "replaced", "first": "second", "second": "first"}
    steps = set(zip(found.first, found.second, found.kinds, strict=True))
    mirrored = {
        (one, other, mirror[kind])
        for other, one, kind in zip(swapped.first, swapped.second, swapped.kinds, strict=True)
    }
    assert steps == mirrored


@given(SEQUENCES)
def test_equal_sequences_align_one_to_one(tokens: list[str]):
    found = align.align(tokens, tokens)
    assert found.first == found.second == tuple(range(len(tokens)))
    assert set(found.kinds) <= {"same"}


def test_a_long_text_with_a_few_changes_is_aligned_by_its_tokens():
    words = [f"w{k % 300}" for k in range(6_000)]
    other = [*words[:100], "new", *words[100:3_000], *words[3_050:]]
    found = align.align(words, other)
    assert found.kinds.count("second") == 1
    assert found.kinds.count("first") == 50
    assert found.step_of(second=100) == found.first.index(None)


def test_special_tokens_meet_and_capitals_do_not_part(minilm: encoder.TextEncoder, tmp_path):
    first, second = minilm.trace("The Cat"), minilm.trace("the cat sat")
    found = align.align_traces(first, second)
    assert found.kinds == ("same", "same", "same", "second", "same")
    ours, theirs, both = align.step_labels(first, second, found)
    assert ours == ("[CLS]", "the", "cat", "–", "[SEP]")
    assert theirs == both == ("[CLS]", "the", "cat", "sat", "[SEP]")
    assert found.gaps == ((3,), ())


def test_a_step_is_found_by_either_token(pair: tuple[encoder.Trace, encoder.Trace]):
    found = align.align_traces(*pair)
    bank = pair[0].labels.index("bank")
    assert found.second[found.step_of(bank)] == pair[1].labels.index("bank")
    only = found.kinds.index("second")
    assert found.step_of(None, found.second[only]) == only
    assert found.step_of(None, None) is None
    assert found.step_of(999) is None
