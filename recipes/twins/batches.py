"""The input of masked-word training: the rows of each batch, their order, and the masks.

All random numbers are derived from (seed, epoch), so two recipes of the same seed see the same rows in the same order.
Rows of a batch have the same length, so that no padding and no attention mask is needed.

Shapes: B rows of a batch, T tokens of a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from encoder.inputs.tokenizer import Tokenizer
from recipes.twins.corpus import CorpusError, Encoded, token_id
from recipes.twins.recipe import TrainingRecipe

IGNORE = -100  # the label of a token that is not predicted


@dataclass(frozen=True)
class Special:
    """Ids of the special tokens; n_special: ids below this are special and never masked or drawn."""

    cls: int
    sep: int
    mask: int
    n_special: int

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Special:
        """From a tokenizer of `corpus.train_tokenizer`, whose special tokens come first."""
        cls_id, sep, mask = (token_id(tokenizer.backend, name) for name in ("[CLS]", "[SEP]", "[MASK]"))
        return cls(cls_id, sep, mask, max(cls_id, sep, mask) + 1)


def single_rows(data: Encoded, sentences: np.ndarray, length: int, special: Special) -> np.ndarray:
    """Sentences of `length` tokens each -> [B, length + 2], with [CLS] and [SEP]."""
    at = data.starts[sentences][:, None] + np.arange(length)[None]
    rows = np.empty((len(sentences), length + 2), dtype=np.int64)
    rows[:, 0], rows[:, 1:-1], rows[:, -1] = special.cls, data.ids[at], special.sep
    return rows


def packed_rows(data: Encoded, firsts: np.ndarray, length: int, special: Special) -> np.ndarray:
    """[CLS] s [SEP] s' [SEP] ... from sentence `first` on, in the corpus' order, cut at `length` -> [B, length]."""
    rows = np.empty((len(firsts), length), dtype=np.int64)
    for row, first in zip(rows, firsts, strict=True):
        pieces, have, sentence = [np.array([special.cls])], 1, int(first)
        while have < length:
            ids = data.ids[data.starts[sentence] : data.starts[sentence + 1]]
            pieces += [ids.astype(np.int64), np.array([special.sep])]
            have += len(ids) + 1
            sentence = (sentence + 1) % len(data)
        row[:] = np.concatenate(pieces)[:length]
    return rows


#: A batch: (sentences, their length), or (first sentences, 0) for packed rows.
Batch = tuple[np.ndarray, int]


def plan_epoch(data: Encoded, recipe: TrainingRecipe, epoch: int) -> list[Batch]:
    """The batches of an epoch, in random order.

    A length with too few sentences for half a batch is left out; the packed rows hold those sentences, too.
    """
    draw = np.random.default_rng([recipe.seed, 1, epoch])
    longest = recipe.max_positions
    batches: list[Batch] = []
    n_packed = round(recipe.packed_share * len(data.ids) / longest)
    per_batch = max(1, recipe.batch_tokens // longest)
    for _ in range(n_packed // per_batch):
        batches.append((draw.integers(len(data), size=per_batch), 0))
    lengths = np.minimum(data.lengths, longest - 2)
    order = draw.permutation(len(data))
    order = order[: round(len(order) * (1.0 - recipe.packed_share))]
    for length in np.unique(lengths[order]):
        sentences = order[lengths[order] == length]
        per_batch = max(1, recipe.batch_tokens // int(length + 2))
        for start in range(0, len(sentences), per_batch):
            chosen = sentences[start : start + per_batch]
            if len(chosen) * 2 >= per_batch:
                batches.append((chosen, int(length)))
    return [batches[i] for i in draw.permutation(len(batches))]


def rows_of(data: Encoded, batch: Batch, recipe: TrainingRecipe, special: Special) -> np.ndarray:
    """A batch of a plan -> ids [B, T]."""
    sentences, length = batch
    if length:
        return single_rows(data, sentences, length, special)
    return packed_rows(data, sentences, recipe.max_positions, special)


def mask_tokens(
    ids: np.ndarray, draw: np.random.Generator, special: Special, vocab_size: int, share: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """ids [B, T] -> (input, labels), both [B, T]. share: of the tokens that are selected for prediction.

    80% of the selected tokens become [MASK], 10% a random word, 10% stay (Devlin et al. 2019). Labels are IGNORE at
    all other tokens. Special tokens are never selected; at least one token always is.
    """
    ordinary = ids >= special.n_special
    chance = draw.random(ids.shape)
    chosen = (chance < share) & ordinary
    if not chosen.any() and ordinary.any():
        chosen.flat[np.flatnonzero(ordinary)[0]] = True
    how = draw.random(ids.shape)
    words = draw.integers(special.n_special, vocab_size, size=ids.shape)
    inputs = np.where(chosen & (how < 0.8), special.mask, ids)
    inputs = np.where(chosen & (how >= 0.9), words, inputs)
    return inputs, np.where(chosen, ids, IGNORE)


def batches_from(data: Encoded, recipe: TrainingRecipe, special: Special, first: int) -> Iterator[np.ndarray]:
    """Ids [B, T] of each step from `first` on, epoch after epoch, without end."""
    seen, epoch = 0, 0
    while True:
        plan = plan_epoch(data, recipe, epoch)
        if not plan:
            raise CorpusError(
                f"{len(data)} sentences give no batch of {recipe.batch_tokens} tokens: use a longer text."
            )
        for batch in plan[max(0, first - seen) :]:
            yield rows_of(data, batch, recipe, special)
        seen += len(plan)
        epoch += 1
