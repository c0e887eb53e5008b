"""What is known of the texts so far: exact sums, the strongest examples, and the texts that failed.

`Totals.merge` is associative and commutative bit for bit, so blocks may arrive in any order, from any worker.

Floating-point addition rounds, so blocks of texts that arrive in another order would give another sum. Here each value
is rounded once, to a multiple of 2^-40, and then added as integers, which is exact, associative and commutative. So
1 worker and 3 workers give the same bits. The bound: a mean differs from that of the unrounded values by at most 2^-41.
A sum is a pair of integers: the whole parts, and the fractions in units of 2^-40. Both stay below 2^63 for up to
2^23 texts whose values are below 2^31.

Intervals come from the Poisson bootstrap: each replicate counts a text Poisson(1) times, independently of all others.
For many texts this is the usual bootstrap (Hanley and MacGibbon 2006; Chamandy et al. 2012, "Estimating uncertainty for
massive data streams"). It needs one pass and no order of the texts. The weights of a text depend on the seed and the
text's index only, so workers agree on them.

Shapes: B texts, K examples, M measures, L layers, H heads, N = L x H, V values of a label, R replicates, G key tokens,
O offsets, S norms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from safetensors.numpy import load, save

from encoder.inputs.json_file import safetensors_texts

#: Texts that failed and are named.
MOST_NAMED = 1_000
#: Fewer texts have intervals that are too narrow: replicates of few texts hardly differ.
FEW_TEXTS = 30


def caution(n_texts: int) -> str:
    """What to know of the intervals of so many texts; "" where they are enough."""
    if n_texts >= FEW_TEXTS:
        return ""
    return f"Only {n_texts:,} texts: the 95% intervals are too narrow; take {FEW_TEXTS} texts or more"


@dataclass(eq=False)
class Totals:
    """sums: name -> int64 array, added; top: the strongest examples; failed: text -> why, the first MOST_NAMED.

    The sums, [2, ...] where they are fixed-point (`fixed`):
    blocks [blocks]: 1 for each that is counted; texts, tokens, cut, failed [];
    lengths [most tokens + 1]: texts by their number of tokens;
    n [M], sum, square [2, M, L, H], histogram [M, bins, L, H]: of each measure over texts;
    type [types, L, H]: texts in which a head has a type;
    boot_texts [R], boot_n [R, M], boot_sum [R, M, L, H], boot_type [R, types, L, H]: with `bootstrap_weights`;
    pairs [O], profile [2, L, H, O]; key_n [G], key_sum, key_square [2, G, L, H]; norm_sum, norm_square [2, S];
    similarity_texts [], similarity [2, N, N]; label/C/n [V, M], label/C/sum, label/C/square [2, V, M, L, H].
    """

    sums: dict[str, np.ndarray]
    top: Top
    failed: dict[int, str]

    def merge(self, other: Totals) -> None:
        """Add other texts to these."""
        for name, array in other.sums.items():
            self.sums[name] = self.sums[name] + array if name in self.sums else array
        self.top = self.top.merged(other.top)
        self.failed = dict(sorted((self.failed | other.failed).items())[:MOST_NAMED])

    def to_bytes(self) -> bytes:
        """As safetensors."""
        arrays = {f"sums/{name}": np.array(array, order="C") for name, array in self.sums.items()}
        arrays |= {f"top/{name}": np.array(array, order="C") for name, array in vars(self.top).items()}
        return save(arrays, {"failed": json.dumps(self.failed)})

    @classmethod
    def from_bytes(cls, content: bytes) -> Totals:
        """Read what `to_bytes` wrote."""
        arrays = load(content)
        failed = json.loads(safetensors_texts(content)["failed"])
        return cls(
            {name.removeprefix("sums/"): array for name, array in arrays.items() if name.startswith("sums/")},
            Top(*(arrays[f"top/{name}"] for name in ("value", "n_tokens", "text"))),
            {int(text): why for text, why in failed.items()},
        )


@dataclass(frozen=True, eq=False)
class Top:
    """The K texts of the largest values, a list whose order never depends on who came first: of equal values the longer
    text first, then the earlier one.

    value float32, n_tokens, text integers [K, M, L, H]; text -1: none.
    """

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


# --- exact sums -------------------------------------------------------------------------------------------------------

FRACTION_BITS = 40
#: Larger values do not fit.
LARGEST = 2.0**31
#: Texts up to which no sum overflows.
MOST_TEXTS = 2**23


def fixed(values: np.ndarray) -> np.ndarray:
    """Finite values [...] below LARGEST -> int64 [2, ...]: the whole parts, and the fractions x 2^40."""
    values = np.asarray(values, dtype=np.float64)
    whole = np.floor(values)
    fraction = np.rint(np.ldexp(values - whole, FRACTION_BITS))
    return np.stack([whole, fraction]).astype(np.int64)


def value(sums: np.ndarray) -> np.ndarray:
    """int64 [2, ...] -> float64 [...], the sum rounded once more."""
    carried = sums[1] >> FRACTION_BITS  # whole numbers among the fractions
    fraction = sums[1] - (carried << FRACTION_BITS)
    return (sums[0] + carried) + np.ldexp(fraction.astype(np.float64), -FRACTION_BITS)


def fits(values: np.ndarray) -> np.ndarray:
    """bool [...]: whether each value is finite, and it and its square fit."""
    with np.errstate(invalid="ignore", over="ignore"):
        found: np.ndarray = np.square(np.asarray(values, dtype=np.float64)) < LARGEST
    return found  # false for NaN and infinity


# --- the bootstrap ----------------------------------------------------------------------------------------------------

#: Values are rounded to multiples of 2^-24. A block's sums are then whole numbers below 2^53, so products in float64
#: are exact, in whatever order a library adds them.
BITS = 24
#: Percentiles of an interval.
INTERVAL = (2.5, 97.5)


def bootstrap_weights(texts: Sequence[int], replicates: int, seed: int) -> np.ndarray:
    """float64 [R, B]: how often each replicate counts each text."""
    rows = []
    for text in texts:
        draw = np.random.Generator(np.random.Philox(key=seed, counter=[0, text, 0, 0]))
        rows.append(draw.poisson(1.0, replicates))
    return np.stack(rows, axis=1).astype(np.float64)


def weighted_sums(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """weights [R, B], values [B, ...], NaN counts as 0 -> int64 [R, ...], in units of 2^-BITS."""
    whole = np.rint(np.ldexp(np.nan_to_num(values), BITS)).reshape(len(values), -1)
    sums: np.ndarray = (weights @ whole).astype(np.int64)
    return sums.reshape(len(weights), *values.shape[1:])


def replicate_means(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sums int64 [R, ...], counts [R, ...] with trailing axes of 1 -> float64 [R, ...]; NaN without any text."""
    with np.errstate(divide="ignore", invalid="ignore"):
        means: np.ndarray = np.ldexp(sums.astype(np.float64), -BITS) / np.where(counts > 0, counts, np.nan)
    return means


def interval(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """float64 [R, ...] -> the percentiles INTERVAL, [...] each; NaN where no replicate has a value."""
    with np.errstate(invalid="ignore"):
        filled = np.where(np.isnan(means).all(0), 0.0, means)
        low, high = np.nanpercentile(filled, INTERVAL, axis=0)
    lacking = np.isnan(means).all(0)
    return np.where(lacking, np.nan, low), np.where(lacking, np.nan, high)
