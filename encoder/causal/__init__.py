"""What a part of the model causes: the change of an outcome when that part is edited.

Pure functions over one batched run: `ablate_each_head`, `patch`, `knock_out`, `prune_curve`. Expensive ones have a
generator that yields progress and can be closed: `iter_each_head` and so on.
"""

from encoder.causal.classes import ClassProbability
from encoder.causal.effects import (
    Progress,
    ablate_each_head,
    iter_each_head,
    iter_effects,
    iter_knock_out,
    iter_patch,
    knock_out,
    outcomes_of,
    patch,
)
from encoder.causal.outcomes import OUTCOMES, MaskedWord, Outcome, SentenceVector, Similarity, TokenVector, as_outcome
from encoder.causal.prune import PruneCurve, iter_prune_curve, prune_curve
from encoder.causal.tokens import RankCorrelation, TokenEffects, rank_correlation, token_effects

OUTCOMES[ClassProbability.code] = ClassProbability

__all__ = [
    "OUTCOMES", "ClassProbability", "MaskedWord", "Outcome", "Progress", "PruneCurve", "RankCorrelation",
    "SentenceVector", "Similarity", "TokenEffects", "TokenVector", "ablate_each_head", "as_outcome", "iter_each_head",
    "iter_effects", "iter_knock_out", "iter_patch", "iter_prune_curve", "knock_out", "outcomes_of", "patch",
    "prune_curve", "rank_correlation", "token_effects",
]  # fmt: skip
