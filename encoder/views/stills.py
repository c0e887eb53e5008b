"""Stills of attention: one head as a map, or all heads as small maps."""

from encoder.drawing import still
from encoder.drawing.still import Still
from encoder.maps import aggregate
from encoder.trace.trace import Trace

#: Cells along the side of a small map.
SIDE = 64


def of_head(trace: Trace, layer: int, head: int, name: str) -> Still:
    """The map of one head; of a long input, its mean over blocks, without names."""
    weights = trace.pooled_attention(layer, head).cpu().numpy()
    labels = trace.labels if len(weights) == trace.n_tokens else [""] * len(weights)
    return still.matrix(name, weights, labels, labels)


def of_all_heads(trace: Trace, name: str, selected: tuple[int, int] | None = None) -> Still:
    """The small maps of all heads. selected: the framed (layer, head)."""
    return still.grid(name, aggregate.to_uint8(trace.thumbnails(SIDE)), selected=selected)
