"""Captions of spoken digits: templates that name the digit, or its parity."""

from __future__ import annotations

import random

from encoder.inputs.captions import PARITY, WORDS, Caption, filled

#: {number} is a word or a numeral.
TEMPLATES = (
    "{number}",
    "a {number}",
    "the digit {number}",
    "the number {number}",
    "the word {number}",
    "the spoken digit {number}",
    "a voice says {number}",
    "a voice says the number {number}",
    "somebody says {number}",
    "somebody says the digit {number}",
    "this is {number}",
    "this is a recording of the number {number}",
    "a recording of a voice that says {number}",
    "you hear {number}",
    "you hear the spoken word {number}",
)
#: Never trained on. Some of their words are in no training caption: the tokenizer reads those as [UNK].
UNSEEN_TEMPLATES = (
    "a recording of the digit {number}",
    "somebody whispers the word {number}",
    "the voice on this tape says {number}",
    "can you hear the {number} here",
    "you hear a voice that says the number {number}",
)
#: For an even or odd digit.
PARITY_TEMPLATES = ("an {number} digit", "an {number} number", "somebody says an {number} number",
                    "you hear an {number} digit")  # fmt: skip


def draw(numbers: random.Random, digit: int) -> Caption:
    """A random training caption that is true of a recording of this digit."""
    if numbers.random() < 0.1:
        parity = "even" if digit % 2 == 0 else "odd"
        return Caption(numbers.choice(PARITY_TEMPLATES).format(number=parity), PARITY[parity])
    number = numbers.choice((WORDS[digit], str(digit)))
    return Caption(filled(numbers.choice(TEMPLATES), number), frozenset({digit}))
