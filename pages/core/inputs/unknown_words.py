"""The words of a text that a tokenizer does not know, in words."""

from collections.abc import Iterator, Sequence

import encoder
from encoder.inputs.text import Tokenized

#: Unknown words that are named.
MOST_NAMED = 4


def sentence(trace: encoder.Trace, model: encoder.TextEncoder) -> str | None:
    """The unknown words of a trace and what they mean for the model; None where there are none."""
    return None if trace.source is None or model.takes != "text" else of_sources([trace.source], model)


def of_sources(sources: Sequence[Tokenized], model: encoder.TextEncoder) -> str | None:
    """The same for several texts."""
    if (unknown := model.tokenizer.unk_token) is None:
        return None
    found = [word for source in sources for word in _words(source, unknown)]
    if not found:
        return None
    different = list(dict.fromkeys(word for word in found if word.strip()))
    names = ", ".join(f"“{word[:20]}”" for word in different[:MOST_NAMED]) or "a part of this text"
    if len(different) > MOST_NAMED:
        names += " and more"
    count = "1 token" if len(found) == 1 else f"{len(found)} tokens"
    return (
        f"The tokenizer of {model.name} does not know {names}: it writes {unknown} instead ({count}). "
        f"The model cannot tell one {unknown} from another."
    )


def _words(source: Tokenized, unknown: str) -> Iterator[str]:
    texts = (source.text, source.pair or "")
    for token, special, segment, (start, end) in zip(
        source.tokens, source.special, source.segments, source.offsets, strict=True
    ):
        if token == unknown and not special:
            yield texts[segment if source.pair is not None else 0][start:end]
