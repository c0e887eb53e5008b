"""Which edits change a hook point, and the value after them: the one place where edits are applied.

A forward pass that is recorded applies them to whole values, a Trace to the heads and tokens that it derives, and a
batch of variants to one row after the other.

Shapes: H heads, T tokens, C components.
"""

from collections.abc import Sequence

from torch import Tensor

from encoder.edits.base import HEAD_POINTS, Edit, Site


def edits_at(edits: Sequence[Edit], point: str, layer: int | None) -> list[Edit]:
    """Those of the edits that change a hook point, in their order. layer: None outside the layers."""
    return [edit for edit in edits if edit.at(point, layer)]


def apply_edits(
    edits: Sequence[Edit],
    point: str,
    layer: int | None,
    value: Tensor,
    heads: range | None = None,
    tokens: range | None = None,
) -> Tensor:
    """The value of a hook point, [..., H, T, C] or [..., T, C], after the edits; unchanged, the same tensor.

    heads, tokens: the part of the point's value that this is (of attention, tokens are queries); None: all of them.
    """
    if chosen := edits_at(edits, point, layer):
        if heads is None:
            heads = range(value.shape[-3]) if point in HEAD_POINTS else range(0)
        if tokens is None:
            tokens = range(value.shape[-1 if point == "positions" else -2])
        site = Site(point, layer, heads, tokens)
        for edit in chosen:
            value = edit.apply(value, site)
    return value
