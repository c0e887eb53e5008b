"""Captions of handwritten digits: what each claims, and a tokenizer of their words.

A caption claims a digit ("a handwritten three") or its parity ("an odd digit"), and may claim how thick it is ("a thin
three"). Thickness is measured from the pixels (`strokes`).
"""

import random
from dataclasses import dataclass
from typing import Literal

import tokenizers
from tokenizers import normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel

from encoder.inputs.captions import PLAIN_TEMPLATES, TEMPLATES, WORDS, filled
from encoder.inputs.tokenizer import Tokenizer

Stroke = Literal["thick", "thin"]

PARITY = {"even": frozenset(range(0, 10, 2)), "odd": frozenset(range(1, 10, 2))}
#: Pairs of a stroke and a digit that no training caption names.
UNSEEN_PAIRS: frozenset[tuple[Stroke, int]] = frozenset({("thick", 2), ("thick", 7), ("thin", 3), ("thin", 8)})
START, END, PAD, UNKNOWN = "[START]", "[END]", "[PAD]", "[UNK]"
#: Tokens of the longest caption, with [START] and [END].
MOST_TOKENS = 16


@dataclass(frozen=True)
class Caption:
    """A caption and what it claims. digits: those of which it is true; stroke: None where it says nothing of it."""

    text: str
    digits: frozenset[int]
    stroke: Stroke | None = None

    def holds(self, digit: int, stroke: Stroke | None) -> bool:
        """Whether it is true of an image of this digit, which is thick, thin or neither."""
        return digit in self.digits and self.stroke in (None, stroke)


def draw(numbers: random.Random, digit: int, stroke: Stroke | None) -> Caption:
    """A random training caption that is true of an image of this digit, which is thick, thin or neither."""
    kind = numbers.random()
    if kind < 0.1:  # an even digit, an odd number
        parity = "even" if digit % 2 == 0 else "odd"
        named, digits = f"{parity} {numbers.choice(('digit', 'number'))}", PARITY[parity]
        return Caption(filled(numbers.choice(TEMPLATES[1:]), named), digits)
    number, digits = numbers.choice((WORDS[digit], str(digit))), frozenset({digit})
    if kind < 0.4 and stroke is not None and (stroke, digit) not in UNSEEN_PAIRS:
        return Caption(filled(numbers.choice(TEMPLATES), f"{stroke} {number}"), digits, stroke)
    return Caption(filled(numbers.choice((*TEMPLATES, *PLAIN_TEMPLATES)), number), digits)


def with_unknown_words(text: str, numbers: random.Random) -> str:
    """The caption with words that no vocabulary has: some in place of its own, in one of four some around it.

    Words that claim something stay. So a visitor's other words disturb the model less, and every position is trained.
    """
    claims = {*WORDS, *"0123456789", "thick", "thin", *PARITY}
    words = [word if word in claims or numbers.random() > 0.1 else UNKNOWN for word in text.split()]
    if numbers.random() < 0.25:
        around = numbers.randint(1, MOST_TOKENS - 2 - len(words)) if len(words) < MOST_TOKENS - 2 else 0
        before = numbers.randint(0, around)
        words = [UNKNOWN] * before + words + [UNKNOWN] * (around - before)
    return " ".join(words)


def vocabulary(
    templates: tuple[str, ...] = (*TEMPLATES, *PLAIN_TEMPLATES), kinds: tuple[str, ...] = ("thick", "thin")
) -> list[str]:
    """The special tokens, then all words of training captions in alphabetical order. kinds: adjectives of digits."""
    words = {*WORDS, *"0123456789", *kinds, *PARITY, "digit", "number"}
    for template in templates:
        words |= {*template.replace("{number}", "").split(), "a", "an"}
    return [PAD, UNKNOWN, START, END, *sorted(words)]


def tokenizer(words: list[str] | None = None) -> Tokenizer:
    """Lower-case words, by default of `vocabulary`; any other word is [UNK], and punctuation is left out."""
    ids = {word: index for index, word in enumerate(words or vocabulary())}
    backend: tokenizers.Tokenizer = tokenizers.Tokenizer(WordLevel(ids, unk_token=UNKNOWN))
    backend.add_special_tokens([PAD, UNKNOWN, START, END])
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(behavior="removed")]
    )
    backend.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}",
        pair=f"{START} $A {END} $B {END}",
        special_tokens=[(START, ids[START]), (END, ids[END])],
    )
    special = {"pad_token": PAD, "unk_token": UNKNOWN, "bos_token": START, "eos_token": END}
    return Tokenizer(backend, special)
