"""Measures of a trace: measures and types of heads, similarity, norm-weighted attention, rollout, norms.

    >>> measure.heads(trace)["entropy"].shape       # [L, H]
    (6, 12)
    >>> rollout = measure.rollout(trace, 5)         # [T, T]
    >>> norms = measure.norm_weighted(trace, 0, 2)  # [T, T]
    >>> length = measure.stream(trace).length       # [L + 1]

Functions of traces and attention maps without side effects. They read maps chunk by chunk, so that long texts fit.
scikit-learn and scipy are imported only when a function needs them.
"""

from encoder.measure.attention_rollout import rollout, rollouts
from encoder.measure.head_definitions import HEAD_MEASURES, register
from encoder.measure.head_divergence import head_similarity
from encoder.measure.head_measures import HeadMeasures
from encoder.measure.head_measures import head_measures as heads
from encoder.measure.head_types import find as head_types_of
from encoder.measure.norm_weighting import norm_weighted, value_norms, value_output
from encoder.measure.norms import statistics as norm_statistics
from encoder.measure.residual_stream import StreamMeasures
from encoder.measure.residual_stream import measure as stream

__all__ = [
    "HEAD_MEASURES", "HeadMeasures", "StreamMeasures", "head_similarity", "head_types_of", "heads",
    "norm_statistics", "norm_weighted", "register", "rollout", "rollouts", "stream", "value_norms", "value_output",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
