"""Captions of spoken digits: templates that name the digit (encoder.inputs.spoken_digits), or its parity."""

import random

from encoder.inputs.captions import WORDS, filled
from encoder.inputs.spoken_digits import TEMPLATES
from recipes.digit_words.captions import PARITY, Caption

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
