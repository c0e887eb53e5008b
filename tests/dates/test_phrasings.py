"""The examples of `dates`: rules that know nothing of how they are written find the same output, and what gives it."""

from __future__ import annotations

import random

import pytest

from encoder.measure import dates
from recipes.dates.phrasings import Example, date_phrasings, draw, number_phrasings, number_words

TOKENIZER = dates.tokenizer()


def drawn(unseen: bool, n: int = 2_000) -> list[Example]:
    numbers = random.Random(5)
    return [draw(numbers, unseen) for _ in range(n)]


def given(text: str, pairs: bool = True) -> str | list[str] | None:
    """The answer, or what gives each of its characters: "9<##9"."""
    sentence = TOKENIZER.encode(text)
    found = dates.answer(sentence)
    if found is None or not pairs:
        return None if found is None else found.output
    return [f"{found.output[character]}<{sentence.tokens[token]}" for character, token in found.pairs]


@pytest.mark.parametrize("unseen", [False, True])
def test_the_rules_find_the_output_of_every_example(unseen: bool):
    for example in drawn(unseen):
        sentence = TOKENIZER.encode(example.text)
        found = dates.answer(sentence)
        assert found is not None, example
        assert found.output == example.output, example
        assert len(sentence) <= dates.MOST_SOURCE
        assert len(TOKENIZER.encode(example.output)) <= dates.MOST_TARGET


def test_held_out_phrasings_are_new_combinations_of_known_forms():
    for phrasings in (date_phrasings, number_phrasings):
        seen, unseen = phrasings(False), phrasings(True)
        assert unseen
        assert not {*seen} & {*unseen}
        for place, forms in enumerate(zip(*unseen, strict=True)):
            assert {*forms} <= {one[place] for one in seen}


def test_no_date_and_no_number_is_in_both_parts():
    trained = {example.output for example in drawn(unseen=False)}
    assert not trained & {example.output for example in drawn(unseen=True)}


def test_the_words_of_the_examples_are_the_vocabulary():
    unknown = {
        word
        for example in drawn(unseen=False)
        for word in example.text.lower().split()
        if dates.UNKNOWN in TOKENIZER.encode(word).tokens
    }
    assert unknown == {"since", "until", "about"}


def test_output_is_digits_and_hyphens_that_join_again():
    ids = TOKENIZER.encode("1998-03-21").ids
    assert [TOKENIZER.token(one) for one in ids] == "[CLS] 1 ##9 ##9 ##8 - 0 ##3 - 2 ##1 [SEP]".split()
    assert TOKENIZER.backend.decode(list(ids)) == "1998-03-21"


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("the twenty-first of March 1998", "1998-03-21"),
        ("21/3/98", "1998-03-21"),
        ("March 21st, '98", "1998-03-21"),
        ("3/21/98", "1998-03-21"),
        ("1998-4-3", "1998-04-03"),
        ("Saturday, 21.3.1998", "1998-03-21"),
        ("appointment 21 Mar. 1998", "1998-03-21"),
        ("the first of May nineteen oh five", None),
        ("the first of May two thousand and five", "2005-05-01"),
        ("5/5/05", "2005-05-05"),
        ("twenty fifteen, May 4", "2015-05-04"),
        ("two hundred and five", "205"),
        ("a thousand and one", "1001"),
        ("twelve hundred", "1200"),
        ("nineteen ninety-eight", "1998"),
        ("zero", "0"),
    ],
)
def test_answers(text: str, output: str | None):
    assert given(text, pairs=False) == output


@pytest.mark.parametrize("text", ["3/4/98", "30 February 1998", "hello", "21 March", "1998", "5 May 2050", "5 cats 98",
                                  "[MASK]", "ten thousand", "3/4/5/98"])  # fmt: skip
def test_what_has_no_certain_answer_has_none(text: str):
    assert dates.answer(TOKENIZER.encode(text)) is None


def test_a_pair_of_texts_has_no_answer():
    assert dates.answer(TOKENIZER.encode("two", "three")) is None


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (
            "on the twenty-first of March 1998",
            "1<1 9<##9 9<##9 8<##8 0<march 3<march 2<twenty 1<first",
        ),
        ("5.5.98", "1<9 1<##8 9<9 9<##8 9<9 8<##8 0<5 5<5 0<5 5<5"),
        ("two hundred and five", "2<two 5<five"),
        ("thirty", "3<thirty 0<thirty"),
        ("nineteen ninety-eight", "1<nineteen 9<nineteen 9<ninety 8<eight"),
        ("May the 1st, twenty twelve", "2<twenty 0<twenty 1<twelve 2<twelve 0<may 5<may 0<1 1<1"),
    ],
)
def test_each_character_has_the_tokens_that_give_it(text: str, pairs: str):
    assert given(text) == pairs.split()


@pytest.mark.parametrize(
    ("number", "style", "words"),
    [
        (205, "plain", "two hundred and five"),
        (1998, "year", "nineteen ninety-eight"),
        (1905, "year", "nineteen oh five"),
        (2015, "year", "twenty fifteen"),
        (2005, "year", "two thousand and five"),
        (1900, "year", "one thousand, nine hundred"),
        (1200, "hundreds", "twelve hundred"),
        (0, "plain", "zero"),
    ],
)
def test_number_words(number: int, style: str, words: str):
    assert number_words(number, style, "-", " and ", ", ", "one") == words
