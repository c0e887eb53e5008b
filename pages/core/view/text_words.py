"""The words of a text that a page hides or replaces, and the one that it begins with."""

from collections.abc import Sequence
from dataclasses import dataclass

import encoder
from encoder.measure import telling


@dataclass(frozen=True)
class Word:
    """A word of a text: its characters from `start` to `end`."""

    text: str
    start: int
    end: int

    def replaced_by(self, other: str, text: str) -> str:
        """The text with other characters in place of the word."""
        return text[: self.start] + other + text[self.end :]


def words(trace: encoder.Trace, mask: str | None = None) -> list[Word]:
    """The words of the first sentence in order, without special tokens and masks."""
    source = trace.source
    if source is None:
        return []
    spans: dict[int, list[tuple[int, int]]] = {}
    for token, word, segment, special, offset in zip(
        source.tokens, source.words, source.segments, source.special, source.offsets, strict=True
    ):
        in_first = source.pair is None or segment == 0
        if word >= 0 and not special and token != mask and offset[1] > offset[0] and in_first:
            spans.setdefault(word, []).append(offset)
    ends = [(offsets[0][0], offsets[-1][1]) for offsets in spans.values()]
    return [Word(source.text[start:end], start, end) for start, end in ends]


def by_meaning(found: Sequence[Word]) -> list[int]:
    """Their numbers, long words first; pronouns and words of grammar, which tell little, at the end."""

    def key(number: int) -> tuple[bool, int]:
        word = found[number].text
        return word.lower() in telling.FUNCTION_WORDS or not word.isalpha(), -len(word)

    return sorted(range(len(found)), key=key)
