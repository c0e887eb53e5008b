"""The strongest examples of each head and measure: a bounded list whose order never depends on who came first.

Equal values: the longer text first, then the earlier one.

Shapes: K examples, M measures, L layers, H heads, B texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Top:
    """The K texts of the largest values; value float32, n_tokens, text integers [K, M, L, H]; text -1: none."""

    value: np.ndarray
    n_tokens: np.ndarray
    text: np.ndarray

    @classmethod
    def empty(cls, *shape: int) -> Top:
        """No example yet; shape: K, M, L, H."""
        return cls(np.full(shape, -np.inf, np.float32), np.zeros(shape, np.int32), np.full(shape, -1, np.int64))

    @classmethod
    def of_texts(cls, values: np.ndarray, n_tokens: np.ndarray, texts: np.ndarray, k: int) -> Top:
        """values [B, M, L, H], NaN: not measured; n_tokens, texts [B]: the strongest k of them."""
        ties = np.lexsort((texts, -n_tokens))  # the same for all heads, so one stable sort of the values is enough
        values = np.where(np.isnan(values), -np.inf, values)[ties].astype(np.float32)
        order = np.argsort(-values, axis=0, kind="stable")[:k]
        value = np.take_along_axis(values, order, axis=0)
        measured = value > -np.inf
        found = cls(
            value,
            np.where(measured, n_tokens.astype(np.int32)[ties][order], np.int32(0)),
            np.where(measured, texts.astype(np.int64)[ties][order], -1),
        )
        missing = cls.empty(max(0, k - len(values)), *values.shape[1:])
        return cls(*_joined(found, missing))

    def merged(self, other: Top) -> Top:
        """The strongest of both."""
        both = Top(*_joined(self, other))
        order = np.lexsort((both.text, -both.n_tokens, -both.value), axis=0)[: len(self.value)]
        return Top(*(np.take_along_axis(array, order, axis=0) for array in vars(both).values()))


def _joined(one: Top, other: Top) -> list[np.ndarray]:
    return [np.concatenate(pair) for pair in zip(vars(one).values(), vars(other).values(), strict=True)]
