"""The words of a text that a tokenizer does not know, in a sentence."""

from __future__ import annotations

import encoder
from encoder.trace import Trace

#: So many of them are named.
NAMED = 4


def sentence(trace: Trace, model: encoder.TextEncoder) -> str | None:
    """What the unknown tokens of a trace stand for, and what the model makes of them; None where there are none."""
    source, unknown = trace.source, model.tokenizer.unk_token
    if source is None or unknown is None:
        return None
    texts = (source.text, source.pair or "")
    found = [
        texts[segment if source.pair is not None else 0][start:end]
        for token, special, segment, (start, end) in zip(
            source.tokens, source.special, source.segments, source.offsets, strict=True
        )
        if token == unknown and not special
    ]
    if not found:
        return None
    different = list(dict.fromkeys(word for word in found if word.strip()))
    names = ", ".join(f"“{word[:20]}”" for word in different[:NAMED]) + (" and more" if len(different) > NAMED else "")
    count = "One token is" if len(found) == 1 else f"{len(found)} tokens are"
    return (
        f"{count} {unknown}: the vocabulary of {model.name} has no pieces for {names or 'a part of this text'}. To the "
        f"model every {unknown} is the same word, whatever was typed there."
    )
