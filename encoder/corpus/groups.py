"""Groups of tokens in a batch of texts of one length: special tokens, punctuation, the same token or word elsewhere.

They are those of `encoder.trace.tokens`, for several texts at once.

Shapes: B texts, T tokens (queries i, keys j), R query rows, G key groups.
"""

from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor

from encoder.causal.outcomes import one_token
from encoder.encoders.text import TextEncoder
from encoder.inputs.text import Tokenized
from encoder.trace import tokens

#: Pairs of tokens up to which the factors of a batch are kept from layer to layer.
KEEP_PAIRS = 4_000_000
#: Columns of `Groups.keys` that are measures; the columns after them are those of `key_tokens`.
KEY_MEASURES = ("cls", "sep", "punctuation")
#: Marks whose attention is recorded one by one, as the full stops and commas of Clark et al. 2019, section 3.2.
MARKS = (".", ",")


def key_tokens(model: TextEncoder, more: Sequence[str] = ()) -> tuple[str, ...]:
    """The tokens that the table `key_tokens` has: the special ones that the tokenizer adds to a text, MARKS, and more.

    more: tokens of the vocabulary, or words that are one token. Raises EncoderError for another word.
    """
    added = model.tokenizer.encode("a")
    special = [token for token, is_special in zip(added.tokens, added.special, strict=True) if is_special]
    vocabulary = model.tokenizer.backend
    chosen = [
        word if vocabulary.token_to_id(word) is not None else model.tokenizer.token(one_token(model, word))
        for word in more
    ]
    return tuple(dict.fromkeys([*special, *MARKS, *chosen]))


class Groups:
    """The groups of B texts of T tokens each, without padding."""

    def __init__(self, sentences: Sequence[Tokenized], names: Sequence[str], device: torch.device) -> None:
        self._sentences, self._device = sentences, device
        self.n_texts, self.n_tokens = len(sentences), len(sentences[0])
        columns = [_columns(sentence, names) for sentence in sentences]
        self.keys = torch.tensor(columns, dtype=torch.float32, device=device).transpose(1, 2)  # [B, T, G]

    @cached_property
    def labels(self) -> Tensor:
        """[2, B, T]: equal where two tokens are the same, or of one word; unique negative numbers for all others."""
        of_texts = [
            tokens.pair_labels(one.ids, [not special for special in one.special], one.words) for one in self._sentences
        ]
        rows = [[labels[name] for labels in of_texts] for name in ("same_token", "own_word")]
        return torch.tensor(rows, device=self._device)

    @cached_property
    def n_alike(self) -> Tensor:
        """[2, B]: queries with another token that is the same, or of the same word: |Q'| of both measures."""
        ordered = self.labels.sort(-1).values
        same = ordered[..., 1:] == ordered[..., :-1]  # neighbours in the order of labels
        none = torch.zeros_like(ordered[..., :1], dtype=torch.bool)
        return (torch.cat([same, none], -1) | torch.cat([none, same], -1)).sum(-1)

    def alike(self, rows: slice) -> Tensor | None:
        """[B, R x T, 2]: 1 where the other token is the same, or of the same word; None if it is so nowhere."""
        if not bool(self.n_alike.any()):
            return None
        if self.n_texts * self.n_tokens**2 > KEEP_PAIRS:
            return self._alike(rows)
        if rows.start not in self._kept:
            self._kept[rows.start] = self._alike(rows)
        return self._kept[rows.start]

    @cached_property
    def _kept(self) -> dict[int, Tensor]:
        return {}

    def _alike(self, rows: slice) -> Tensor:
        same = self.labels[..., rows, None] == self.labels[..., None, :]  # [2, B, R, T]
        same.diagonal(rows.start, -2, -1).zero_()  # no token is another occurrence of itself
        return same.flatten(2).permute(1, 2, 0).float()


def _columns(sentence: Tokenized, names: Sequence[str]) -> list[list[bool]]:
    """[G][T]: KEY_MEASURES, then each of the named tokens. A mark among a text's own words is not a special token."""
    special = sentence.special
    cls, sep = (list(tokens.of_special(special, which)) for which in ("cls", "sep"))
    marks = [not one and tokens.is_mark(token) for token, one in zip(sentence.tokens, special, strict=True)]
    added = {token for token, one in zip(sentence.tokens, special, strict=True) if one} - set(MARKS)
    named = [
        [token == name and one == (name in added) for token, one in zip(sentence.tokens, special, strict=True)]
        for name in names
    ]
    return [cls, sep, marks, *named]
