"""What a tokenizer makes of a text: Tokenized (ids, words, offsets), windows of a long text, padded batches.

Shapes: B batch, T tokens.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from encoder.errors import TextError


@dataclass(frozen=True)
class Tokenized:
    """One text, or a pair of texts, as tokens. Every sequence has length T."""

    #: The text.
    text: str
    #: The second text; None: there is none.
    pair: str | None
    #: Rows of the token table.
    ids: tuple[int, ...]
    #: As in the vocabulary ("##ing", "Ġcat").
    tokens: tuple[str, ...]
    #: As a person reads them.
    labels: tuple[str, ...]
    #: Index of each token's word, counted through both texts; -1 for special tokens.
    words: tuple[int, ...]
    #: 0, or 1 in the second text.
    segments: tuple[int, ...]
    #: True for added tokens such as [CLS].
    special: tuple[bool, ...]
    #: (start, end) characters in the token's text.
    offsets: tuple[tuple[int, int], ...]
    #: Number of tokens before the text was cut.
    n_full: int
    #: Where each token is on its page, P numbers, such as its word's box; None: nothing is known of a page.
    places: tuple[tuple[int, ...], ...] | None = None
    #: The nodes of the text, or of the second one, in a tree of HTML (`inputs.nodes`); None: nothing is known of one.
    nodes: tuple[tuple[int, str], ...] | None = None
    #: How many of the last tokens are of the image of the page: its [CLS], then its patches row by row; 0: no image.
    n_page_tokens: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def cut(self) -> bool:
        """Whether the text was longer than its tokens here."""
        return self.n_full > len(self.ids)

    @property
    def nowhere(self) -> tuple[int, ...]:
        """The place of a token without a place: that of the first special one, or zeros."""
        places = self.places or ((),)
        pairs = zip(self.special, places, strict=False)
        return next((place for special, place in pairs if special), (0,) * len(places[0]))

    def filled(self, token: str, token_id: int, n_tokens: int) -> Tokenized:
        """The same with a special token at its end, repeated up to `n_tokens`."""
        more = max(0, n_tokens - len(self))
        return replace(
            self,
            ids=self.ids + (token_id,) * more,
            tokens=self.tokens + (token,) * more,
            labels=self.labels + (token,) * more,
            words=self.words + (-1,) * more,
            segments=self.segments + (0,) * more,
            special=self.special + (True,) * more,
            offsets=self.offsets + ((0, 0),) * more,
            n_full=max(self.n_full, n_tokens),
            places=None if self.places is None else self.places + (self.nowhere,) * more,
        )


@dataclass(frozen=True)
class TextWindow:
    """A part of a long text, tokenized with special tokens around it. Its words count from 0.

    tokens: (first, one past the last) among the whole text's tokens without special tokens; characters: the same among
    its characters. The offsets of `sentence` are characters of the whole text too. slides: of a pair, which text this
    is a part of, 0 or 1; every window contains the other one.
    """

    sentence: Tokenized
    tokens: tuple[int, int]
    characters: tuple[int, int]
    slides: int = 0


@dataclass(frozen=True)
class Batch:
    """Padded inputs: ids, segments [B, T] long; mask [B, T] bool, True for a real token, or None without padding.

    places [B, T, P] long, or None where no text has any.
    """

    ids: Tensor
    segments: Tensor
    mask: Tensor | None
    places: Tensor | None = None

    @property
    def real(self) -> Tensor:
        """[B, T] bool: True for a real token."""
        return torch.ones_like(self.ids, dtype=torch.bool) if self.mask is None else self.mask


def texts_of(texts: Any) -> list[str]:
    """One text or several, each `readable`. Raises TextError for anything else."""
    if isinstance(texts, str):
        return [readable(texts)]
    try:
        several = list(texts)
    except TypeError:  # not iterable, or an array without axes
        several = [texts]
    return [readable(text) for text in several]


def readable(text: object) -> str:
    """The text with "?" for each lone surrogate, which is not a character. Raises TextError for anything but a str."""
    if not isinstance(text, str):
        several = ", or call trace_batch for several texts" if isinstance(text, list | tuple) else ""
        raise TextError(f"{type(text).__name__} is not text: specify a str{several}.")
    return text.encode("utf-8", "replace").decode("utf-8")
