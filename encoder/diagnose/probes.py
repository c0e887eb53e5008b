"""Texts that make faults visible: each hides from ordinary sentences."""

from __future__ import annotations

from collections.abc import Sequence

from encoder.encoders.text import TextEncoder

#: Short texts, each for a kind of fault that it shows.
SHORT = (
    ("one token", "a"),
    ("two words", "hello world"),
    ("a sentence", "The quick brown fox jumps over the lazy dog."),
    ("the last word decides", "The bank is on the river"),
    ("capitals", "NASA and the GPT of OpenAI in New York"),
    ("accents", "Hokkaidō, café, Éire, Gospić"),
    ("Chinese", "大家好我是GPT"),
    ("Arabic", "سلام. چه طوری؟"),
    ("emoji", "good 👍 morning ☀️"),
    ("a tab and a line break", "one\ttwo\nthree"),
    ("digits and punctuation", "2024-11-28: 3.14 (pi) — 50% off!"),
)
#: Words of the longer texts. They do not repeat soon, so that a cut shows.
WORDS = (
    "river stone window garden letter music number winter market bridge summer doctor paper island silver forest "
    "engine picture morning teacher village kitchen ocean planet mirror candle button travel history science"
).split()
#: Lengths of the longer texts in tokens, besides those of the model's limits.
LENGTHS = (60, 100, 140, 200, 300, 520, 600, 1_100, 2_200)


def long_text(n_words: int) -> str:
    """A text of so many words."""
    step = 7  # prime to the number of words, so that neighbours change
    return " ".join(WORDS[(place * step + place // len(WORDS)) % len(WORDS)] for place in range(n_words))


def probes(model: TextEncoder | None = None) -> tuple[str, ...]:
    """Texts to send to the other program: short ones, and longer than each limit of the model."""
    most = 520 if model is None else model.config.max_tokens
    own = [] if model is None or model.max_embed_tokens is None else [model.max_embed_tokens]
    lengths = sorted({length for length in LENGTHS if length <= 1.2 * most} | {one + 20 for one in own})
    return (*(text for _, text in SHORT), *(long_text(length) for length in lengths))


def unseen(texts: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The probes that are not among the texts. known: all of them."""
    return tuple(text for text in known if text not in set(texts))
