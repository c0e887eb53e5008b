"""Bounds for a tokenizer from anywhere: panics of its library, and how much longer it can make a text."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: A normaliser may make a text so many times longer.
MOST_GROWTH = 256
#: What a normaliser can make of one character, at most, by the name of its kind.
GROWTH = {"NFD": 4, "NFKD": 18, "NFKC": 18, "NFC": 3, "BertNormalizer": 12, "ByteLevel": 4, "Precompiled": 18}


@contextmanager
def panics_raised() -> Iterator[None]:
    """Inside, a panic of the library is a RuntimeError. It is a BaseException, which no handler of errors takes."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(f"the tokenizer's library failed: {error}") from None


def growth_of(normalizer: dict[str, Any]) -> float:
    """How many times longer a normaliser can make a text, from its fields in tokenizer.json: an upper bound."""
    kind = normalizer.get("type")
    if kind == "Sequence":
        return math.prod(growth_of(one) for one in normalizer.get("normalizers", []))
    if kind == "Replace":
        content, pattern = str(normalizer.get("content", "")), normalizer.get("pattern", {})
        if isinstance(pattern, dict) and pattern.get("String"):
            return max(1.0, len(content) / len(pattern["String"]))
        return 1.0 + len(content)  # an expression may fit between any two characters
    if kind in ("Prepend", "Append"):
        return 1.0 + len(str(normalizer.get("prepend", normalizer.get("append", "")))) / 1_000
    return GROWTH.get(str(kind), 1.0)
