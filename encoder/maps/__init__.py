"""The weights of these heads, in this window, at this size: attention maps of a text of any length.

    >>> from encoder import maps
    >>> shown = maps.head_map(trace, 0, 2, special="zero")      # None for layer or head: averaged over
    >>> weights, block = shown.pooled(256, slice(0, 9), slice(0, 9))
    >>> small = maps.small_maps(trace, layer=0)                 # [H, S, S], every head of a layer

There are three ways to answer, and only this room chooses: whole, with every option (`aggregate`); part by part, in
memory that does not grow with T^2 (`long_map`); and from the blocks that the forward pass gave
(`encoder.model.overview`), which a caller that keeps them offers as `seen`.
"""

from encoder.maps.entry import (
    EXACT_TOKENS,
    HeadMap,
    beyond,
    drawn,
    followed,
    head_map,
    is_whole,
    layer_maps,
    small_maps,
    squares,
)

__all__ = [
    "EXACT_TOKENS", "HeadMap", "beyond", "drawn", "followed", "head_map", "is_whole", "layer_maps", "small_maps",
    "squares",
]  # fmt: skip
