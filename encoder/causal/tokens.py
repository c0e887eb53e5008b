"""Which measure of attention predicts a token's effect: attention, norm-weighted attention or attention rollout?

A token's effect is the change of the outcome when no query attends to it, in any layer; its own output stays. Measures
and effects are compared by Spearman's rank correlation over the text's own tokens. One text has few tokens, so the
interval is wide; it resamples tokens, which are not independent of each other.

Shapes: T tokens, n tokens of the text itself.
"""

from dataclasses import dataclass

import numpy as np

from encoder.causal.effects import iter_effects
from encoder.causal.outcomes import Outcome
from encoder.edits import MaskKeys
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.measure import tokens
from encoder.measure.norm_weighted import token_shares
from encoder.measure.ranking import RankCorrelation, rank_correlation
from encoder.measure.rollout import LONGEST_WHOLE, rollout
from encoder.trace import gradual
from encoder.trace.trace import Trace

#: Fewer tokens have no rank correlation worth a number.
FEWEST = 5
#: The longest text: each token's effect is a run that computes all scores of its row.
LONGEST = 256
assert LONGEST <= LONGEST_WHOLE


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


def token_effects(model: NamedEncoder, plain: Trace, outcome: Outcome | str = "sentence") -> TokenEffects:
    """The effect of hiding each token of the text, next to three measures of attention.

    Raises EncoderError for fewer than FEWEST tokens without special ones, and for more than LONGEST in all.
    """
    places = tuple(place for place, inside in enumerate(tokens.is_content(plain)) if inside)
    if len(places) < FEWEST:
        raise EncoderError(f"The {plain.kind} has {len(places)} tokens: a rank correlation needs {FEWEST} or more.")
    if plain.n_tokens > LONGEST:
        raise EncoderError(f"This {plain.kind} has {plain.n_tokens:,} tokens: choose one of {LONGEST} or fewer.")
    hidden = [(MaskKeys((place,)),) for place in places]
    effects = gradual.result(iter_effects(model, plain, hidden, outcome, (len(places),))).double().numpy()
    attention, weighted = token_shares(plain)
    of_last = rollout(plain, plain.config.n_layers - 1)
    measures = {
        "attention": attention,
        "norm_weighted": weighted,
        "rollout": of_last.mean(0).cpu().double().numpy(),
    }
    measures = {name: values[list(places)] for name, values in measures.items()}
    sizes = np.abs(effects)
    correlations = {name: rank_correlation(values, sizes) for name, values in measures.items()}
    return TokenEffects(places, effects, measures, correlations)
