"""Which measure of attention predicts a token's effect: attention, norm-weighted attention or attention rollout?

A token's effect is the change of the outcome when no query attends to it, in any layer; its own output stays. Measures
and effects are compared by Spearman's rank correlation over the text's own tokens. One text has few tokens, so the
interval is wide; it resamples tokens, which are not independent of each other.

Shapes: T tokens, n tokens of the text itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from encoder.any_encoder import AnyEncoder
from encoder.causal.effects import iter_effects
from encoder.causal.outcomes import Outcome
from encoder.edits import MaskKeys
from encoder.errors import EncoderError
from encoder.measure import aggregate, norm_weighted, tokens
from encoder.measure.rollout import LONGEST_WHOLE, rollout
from encoder.trace import Trace

#: Fewer tokens have no rank correlation worth a number.
FEWEST = 5
#: The longest text: each token's effect is a run that computes all scores of its row.
LONGEST = 256
assert LONGEST <= LONGEST_WHOLE


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's rho, and the middle 95 % of its values over resampled tokens. NaN where a side is constant."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class TokenEffects:
    """places [n]: positions; effects [n]: of hiding each; measures: name -> [n]; correlations: with the effects' sizes.

    "attention": mean weight received, over layers, heads and queries; "norm_weighted": share of the norm-weighted
    attention, mean over layers; "rollout": after the last layer, mean over queries.
    """

    places: tuple[int, ...]
    effects: np.ndarray
    measures: dict[str, np.ndarray]
    correlations: dict[str, RankCorrelation]


def token_effects(model: AnyEncoder, plain: Trace, outcome: Outcome | str = "sentence") -> TokenEffects:
    """The effect of hiding each token of the text, beside three measures of attention.

    Raises EncoderError for fewer than FEWEST tokens without special ones, and for more than LONGEST in all.
    """
    places = tuple(place for place, inside in enumerate(tokens.is_content(plain)) if inside)
    if len(places) < FEWEST:
        raise EncoderError(f"The {plain.kind} has {len(places)} tokens: a rank correlation needs {FEWEST} or more.")
    if plain.n_tokens > LONGEST:
        raise EncoderError(f"This {plain.kind} has {plain.n_tokens:,} tokens: choose one of {LONGEST} or fewer.")
    *_, last = iter_effects(model, plain, [(MaskKeys((place,)),) for place in places], outcome, (len(places),))
    effects = last.values.double().numpy()
    layers = range(plain.config.n_layers)
    n_tokens = plain.n_tokens
    measures = {
        "attention": np.mean([aggregate.received(plain, layer).mean(0).numpy() for layer in layers], axis=0),
        "norm_weighted": np.mean([norm_weighted.layer_shares(plain, layer).norm_weighted_share for layer in layers], 0),
        "rollout": rollout(plain, layers[-1], slice(0, n_tokens)).mean(0).cpu().double().numpy(),
    }
    measures = {name: values[list(places)] for name, values in measures.items()}
    sizes = np.abs(effects)
    correlations = {name: rank_correlation(values, sizes) for name, values in measures.items()}
    return TokenEffects(places, effects, measures, correlations)


def rank_correlation(x: np.ndarray, y: np.ndarray, resamples: int = 2000, seed: int = 0) -> RankCorrelation:
    """Spearman's rank correlation of x [n] and y [n], with a percentile bootstrap interval (Efron 1979)."""
    picks = np.random.default_rng(seed).integers(len(x), size=(resamples, len(x)))
    values = _spearman(x[picks], y[picks])
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, [0.025, 0.975]) if len(values) else (np.nan, np.nan)
    return RankCorrelation(float(_spearman(x[None], y[None])[0]), float(low), float(high))


def _spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[S, n], [S, n] -> [S]: Pearson's correlation of the ranks. NaN where all values of a side are equal."""
    a, b = (_ranks(values) for values in (x, y))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: np.ndarray = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return found


def _ranks(values: np.ndarray) -> np.ndarray:
    """[S, n] -> ranks along n; equal values share the mean of their ranks."""
    below = (values[:, None, :] < values[:, :, None]).sum(axis=-1)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=-1)
    ranks: np.ndarray = below + (equal - 1) / 2
    return ranks
