"""Texts of all kinds through the bundled models: tokens, labels, windows, a trace."""

from __future__ import annotations

import functools
import random

import encoder
from encoder.errors import EncoderError
from pages.core.words.markdown import plain
from tests.fuzz.checkpoints import Found, bounded

#: Parts that texts are made of.
PARTS = (
    "the cat ", "[MASK]", "[CLS][SEP]", "\x00", "\ufeff", "\u202e", "\u2066", "\u0301" * 20, "\ud800", "\U0010ffff",
    "👩‍👩‍👧", "東京", "مرحبا ", "שלום ", "<script>alert(1)</script>", "$x^2$", "a" * 200, "\n\n", "\t",
    "![p](http://foreign.test/m.png)", "ﷺ", "İ", "ß", "ﬁ", "   ", "'; --", "%00", "{{", "\\", "1e400", "𝔘𝔫𝔦",
    "\u00ad", "\u200b", "\u2028",
)  # fmt: skip


@functools.cache
def model(name: str) -> encoder.TextEncoder:
    loaded = encoder.load(name, device="cpu")
    assert isinstance(loaded, encoder.TextEncoder)
    return loaded


def text_of(chance: random.Random) -> str:
    """A text of parts, or of any characters."""
    if chance.random() < 0.3:
        return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(40)))
    return "".join(chance.choice(PARTS) for _ in range(chance.choice((0, 1, 3, 10, 60))))


def case(seed: int) -> str:
    """One text, and for some a second one. Returns what became of it. Raises Found."""
    chance = random.Random(seed)
    text = text_of(chance)
    pair = text_of(chance) if chance.random() < 0.3 else None
    loaded = model(chance.choice(("twin-pre", "twin-post", "minilm")))
    what = f"case {seed} ({loaded.name}, {text[:60]!r}, {pair if pair is None else pair[:60]!r})"
    try:
        with bounded(what):
            trace = loaded.trace(text, pair)
            windows = loaded.windows(text, pair)
            plain(text)
    except EncoderError:
        return "refused"
    except Found:
        raise
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error
    if not len(trace.labels) == len(trace.tokens) == trace.n_tokens or not trace.finite or not windows:
        raise Found(f"{what}: labels, tokens and windows do not fit")
    return "traced"
