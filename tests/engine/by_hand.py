"""Traces whose attention is written by hand, and heads' measures computed a second time in float64, cell by cell."""

from __future__ import annotations

import math
import unicodedata
from types import MappingProxyType

import numpy as np
import torch

from encoder import Encoder, EncoderConfig
from encoder.inputs.text import Tokenized
from encoder.trace.trace import Trace

#: Stands for the logarithm of 0: far enough down that its exponential is 0, near enough to stay a plain number.
NOTHING = -1e4


def written(
    attention: np.ndarray,
    tokens: tuple[str, ...] | None = None,
    *,
    words: tuple[int, ...] | None = None,
    n_padding: int = 0,
    pair_from: int | None = None,
) -> Trace:
    """attention [L, H, T, T], rows summing to 1 -> a Trace that has it: q_i = ln A_i, k_j: j-th unit vector, scale 1.

    tokens: by default [CLS] a b c ... [SEP]; those in square brackets are special. pair_from: where a second sentence
    starts. n_padding: the last tokens that are padding; no key among them may have weight in a real row.
    """
    n_layers, n_heads, n, _ = attention.shape
    if tokens is None:
        tokens = ("[CLS]", *(chr(ord("a") + index % 26) for index in range(n - 2 - n_padding)), "[SEP]")
    n_real = n - n_padding
    assert len(tokens) == n_real
    config = EncoderConfig(
        vocab_size=1,
        d_model=1,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ffn=1,
        d_head=n,
        attention_scale=1.0,
        max_positions=n,
    )
    with np.errstate(divide="ignore"):
        logarithm = np.where(attention > 0, np.log(attention), NOTHING)
    q = torch.from_numpy(logarithm).float()
    k = torch.eye(n).expand(n_heads, n, n)
    generator = torch.Generator().manual_seed(0)
    values = {}
    for layer in range(n_layers):
        v = torch.randn(n_heads, n, n, generator=generator)
        values |= {f"layers.{layer}.q": q[layer], f"layers.{layer}.k": k, f"layers.{layer}.v": v}
    special = tuple(token.startswith("[") for token in tokens)
    counted = iter(range(n))
    by_token = tuple(-1 if one else next(counted) for one in special)
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys(tokens))}
    source = Tokenized(
        text=" ".join(tokens[1:-1]),
        pair=None if pair_from is None else " ".join(tokens[pair_from:-1]),
        ids=tuple(vocabulary[token] for token in tokens),
        tokens=tokens,
        labels=tokens,
        words=words or by_token,
        segments=tuple(int(pair_from is not None and index >= pair_from) for index in range(n_real)),
        special=special,
        offsets=tuple((0, 0) for _ in tokens),
        n_full=n_real,
    )
    return Trace(
        encoder=Encoder(config, seed=0).eval(),
        tokens=tokens + ("[PAD]",) * n_padding,
        labels=tokens + ("[PAD]",) * n_padding,
        ids=source.ids + (0,) * n_padding,
        mask=torch.arange(n) < n_real,
        values=MappingProxyType(values),
        source=source,
    )


def identity(n: int) -> np.ndarray:
    return np.eye(n)


def to_previous(n: int) -> np.ndarray:
    """Row i looks at i - 1; the first, which has none, at itself."""
    out = np.zeros((n, n))
    for i in range(n):
        out[i, max(0, i - 1)] = 1
    return out


def to_next(n: int) -> np.ndarray:
    out = np.zeros((n, n))
    for i in range(n):
        out[i, min(n - 1, i + 1)] = 1
    return out


def uniform(n: int) -> np.ndarray:
    return np.full((n, n), 1 / n)


def one_hot(n: int, key: int) -> np.ndarray:
    out = np.zeros((n, n))
    out[:, key] = 1
    return out


def random(n: int, seed: int, sharpness: float = 2.0) -> np.ndarray:
    scores = np.random.default_rng(seed).normal(size=(n, n)) * sharpness
    powers = np.exp(scores)
    return powers / powers.sum(1, keepdims=True)


def measured(trace: Trace, attention: np.ndarray, queries: str, strong: float) -> dict[str, float]:
    """Every measure of one head from its attention [T, T], by its definition, pair by pair."""
    n, source = trace.n_real, trace.source
    inside = [not special for special in source.special]
    rows = [i for i in range(n) if queries == "all" or inside[i]]

    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else math.nan

    def like(labels: tuple[int, ...], i: int) -> list[int]:
        return [j for j in range(n) if j != i and inside[i] and inside[j] and labels[j] == labels[i]]

    def share_of_top(offset: int) -> float:
        there = [i for i in rows if 0 <= i + offset < n]
        return mean([float(int(np.argmax(attention[i, :n])) == i + offset) for i in there])

    def punctuation(token: str) -> bool:
        return all(unicodedata.category(character)[0] == "P" for character in token.removeprefix("##"))

    separators = [j for j in range(1, n) if source.special[j]]
    marks = [j for j in range(n) if inside[j] and punctuation(trace.tokens[j])]
    uniform = mean([math.log(i + 1 if trace.config.causal else n) for i in rows])
    entropies = [-sum(a * math.log(a) for a in attention[i, :n] if a > 0) for i in rows]
    return {
        "entropy": mean(entropies),
        "relative_entropy": mean(entropies) / (uniform or math.nan),
        "distance": mean([sum(attention[i, j] * abs(i - j) for j in range(n)) for i in rows]),
        "self": mean([attention[i, i] for i in rows]),
        "previous": mean([attention[i, i - 1] for i in rows if i > 0]),
        "next": mean([attention[i, i + 1] for i in rows if i < n - 1]),
        "cls": mean([attention[i, 0] if source.special[0] else 0.0 for i in rows]),
        "sep": mean([sum(attention[i, j] for j in separators) for i in rows]),
        "punctuation": mean([sum(attention[i, j] for j in marks) for i in rows]),
        "same_token": mean([sum(attention[i, j] for j in like(source.ids, i)) for i in rows if like(source.ids, i)]),
        "own_word": mean([sum(attention[i, j] for j in like(source.words, i)) for i in rows if like(source.words, i)]),
        "maximum": mean([max(attention[i, :n]) for i in rows]),
        "strong": mean([sum(attention[i, j] > strong for j in range(n)) / n for i in rows]),
        "top_previous": share_of_top(-1),
        "top_self": share_of_top(0),
        "top_next": share_of_top(1),
    }
