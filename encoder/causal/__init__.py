"""What a part of the model causes: the change of an outcome when that part is edited.

    >>> causal.ablate_each_head(model, "a cat").shape                                   # [L, H]
    torch.Size([6, 12])
    >>> grid = causal.patch(model, "a cat", "a dog", causal.Similarity("an animal"))    # [L, T]

Pure functions over one batched run: `ablate_each_head`, `leave_out_each_sublayer`, `patch`, `knock_out`.
Expensive ones have a generator that yields progress and can be closed: `iter_each_head` and so on.
"""

from encoder.causal import occlusion
from encoder.causal.cross import context_edit, falls_when_replaced
from encoder.causal.effects import (
    Progress,
    ablate_each_head,
    iter_each_head,
    iter_effects,
    iter_knock_out,
    iter_patch,
    knock_out,
    knock_out_edits,
    leave_out_each_sublayer,
    patch,
    word_changes,
)
from encoder.causal.outcomes import (
    OUTCOMES,
    ClassProbability,
    MaskedWord,
    Named,
    Outcome,
    SentenceVector,
    Similarity,
    TargetProbability,
    TokenVector,
    as_outcome,
    likeliest_word,
    outcomes_of,
    register,
    registered,
)
from encoder.causal.patching import (
    Where,
    both_outcomes,
    carried_share,
    differing,
    patch_edit,
    patch_request,
)
from encoder.causal.prune import PruneCurve, prune_curve
from encoder.measure.ranking import RankCorrelation, rank_correlation

__all__ = [
    "OUTCOMES", "ClassProbability", "MaskedWord", "Named", "Outcome", "Progress", "PruneCurve", "RankCorrelation",
    "SentenceVector", "Similarity", "TargetProbability", "TokenVector", "Where", "ablate_each_head", "as_outcome",
    "both_outcomes", "carried_share", "context_edit", "differing", "falls_when_replaced", "iter_each_head",
    "iter_effects", "iter_knock_out", "iter_patch", "knock_out", "knock_out_edits", "leave_out_each_sublayer",
    "likeliest_word", "occlusion", "outcomes_of", "patch", "patch_edit", "patch_request", "prune_curve",
    "rank_correlation", "register", "registered", "word_changes",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
