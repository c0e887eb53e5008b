"""Which tokens of a trace are special, content, punctuation; which words and sentences they belong to.

Shapes: T tokens, padding included.
"""

import unicodedata
from collections.abc import Sequence
from itertools import count
from typing import Literal

import torch
from torch import Tensor

from encoder.trace.trace import Trace

Queries = Literal["all", "content"]

#: Marks of word-piece and byte-level vocabularies that are not part of the word.
PIECE_MARKS = ("##", "Ġ", "▁", "Ċ")


def is_special(trace: Trace) -> tuple[bool, ...]:
    """[T]: True for [CLS], [SEP] and the like that the tokenizer added. Padding is not a token, so not special."""
    if trace.layout is not None:
        return trace.layout.special
    if trace.source is None:
        return (False,) * trace.n_tokens
    found = trace.source.special + (False,) * (trace.n_tokens - len(trace.source))
    patches = page_patches(trace)
    return tuple(one and at not in patches for at, one in enumerate(found))


def page_patches(trace: Trace) -> range:
    """The tokens of a text that are patches of the image of its page; none without an image."""
    source = trace.source
    return range(len(source) - source.n_page_tokens + 1, len(source)) if source and source.n_page_tokens else range(0)


def is_real(trace: Trace) -> tuple[bool, ...]:
    """[T]: True for every token that is not padding."""
    return tuple(trace.mask.tolist())


def is_content(trace: Trace) -> tuple[bool, ...]:
    """[T]: True for the tokens of the text itself: neither special nor padding."""
    return tuple(real and not special for real, special in zip(is_real(trace), is_special(trace), strict=True))


def is_punctuation(trace: Trace) -> tuple[bool, ...]:
    """[T]: True for content tokens made of nothing but punctuation (Unicode categories P*)."""
    if trace.layout is not None:
        return (False,) * trace.n_tokens
    return tuple(content and is_mark(token) for token, content in zip(trace.tokens, is_content(trace), strict=True))


def is_mark(token: str) -> bool:
    """Whether a token of the vocabulary is made of nothing but punctuation."""
    for mark in PIECE_MARKS:
        token = token.removeprefix(mark)
    return bool(token) and all(unicodedata.category(character).startswith("P") for character in token)


def special_position(trace: Trace, which: Literal["cls", "sep"]) -> tuple[bool, ...]:
    """[T]: "cls": the special token that opens the text ([CLS], <s>); "sep": every other one ([SEP], </s>)."""
    return of_special(is_special(trace), which)


def of_special(special: Sequence[bool], which: Literal["cls", "sep"]) -> tuple[bool, ...]:
    """`special_position` among flags [T] of special tokens."""
    return tuple(one and (index == 0) == (which == "cls") for index, one in enumerate(special))


def pair_labels(ids: Sequence[int], content: Sequence[bool], words: Sequence[int]) -> dict[str, list[int]]:
    """ "same_token", "own_word" -> [T]: equal where two tokens of the text are the same, or of one word.

    Unique negative numbers for the others: special tokens, and parts of an image or a sound, whose ids and words are
    -1.
    """
    alone = range(-2, -2 - len(ids), -1)
    same = [one if inside and one >= 0 else other for one, inside, other in zip(ids, content, alone, strict=True)]
    return {
        "same_token": same,
        "own_word": [word if word >= 0 else other for word, other in zip(words, alone, strict=True)],
    }


def words(trace: Trace) -> tuple[int, ...]:
    """[T]: which word a token belongs to; -1 for special tokens and padding. Each patch or time step is one."""
    if trace.layout is not None:
        numbers = count()
        return tuple(-1 if special else next(numbers) for special in trace.layout.special)
    if trace.source is None:
        return (-1,) * trace.n_tokens
    found = trace.source.words + (-1,) * (trace.n_tokens - len(trace.source))
    patches, first = page_patches(trace), 1 + max(found)
    return tuple(first + at - patches.start if at in patches else one for at, one in enumerate(found))


def sentences(trace: Trace) -> tuple[int, ...]:
    """[T]: 0 for the first sentence, 1 for the second, -1 for padding and for the image of a page. A special token
    belongs to what is before it.

    Tokenizers without segments (RoBERTa's) number both sentences 0; then special tokens between them part them.
    """
    source = trace.source
    n_words = trace.n_tokens if source is None else len(source) - source.n_page_tokens
    if source is None or source.pair is None:
        segments = tuple(0 if real else -1 for real in is_real(trace))
    else:
        segments = source.segments
        if len(set(segments)) == 1:
            segments = _parted_by_special(source.special, first_is_empty=not source.text.strip())
    return segments[:n_words] + (-1,) * (trace.n_tokens - n_words)


def _parted_by_special(special: tuple[bool, ...], first_is_empty: bool) -> tuple[int, ...]:
    """Content tokens before the next special ones are sentence 0, those after it 1."""
    sentence, found, seen = (1 if first_is_empty else 0), [], False
    for index, one in enumerate(special):
        if not one and seen and special[index - 1]:
            sentence = 1
        seen = seen or not one
        found.append(sentence)
    return tuple(found)


def as_mask(flags: tuple[bool, ...], trace: Trace) -> Tensor:
    """Flags [T] -> bool tensor [T] on the trace's device."""
    return torch.tensor(flags, dtype=torch.bool, device=trace.mask.device)


def query_rows(trace: Trace, queries: Queries) -> Tensor:
    """bool [T]: the query rows that count: of every real token ("all", as in Clark et al. 2019) or of "content"."""
    return as_mask(is_real(trace) if queries == "all" else is_content(trace), trace)
