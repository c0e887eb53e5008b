"""Small maps of all heads, for colours and not for numbers. Every page that draws them shares one cache entry a layer.

Shapes: L layers, H heads, R rows, C columns, S cells.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import streamlit as st

from encoder import Trace
from encoder.export import Options
from encoder.maps import aggregate, head_map, long_map
from encoder.model.overview import Overview
from encoder.run import Run
from encoder.views.options import AS_COMPUTED
from pages.core.stores import cache

V = TypeVar("V")
#: Largest side of a small map, in cells.
SIDE = 64
#: Above this many tokens, all heads take seconds and a progress bar is drawn.
LONG_TEXT = 1_024


def of_layer(text: cache.StoredRun, layer: int, options: Options = AS_COMPUTED) -> np.ndarray:
    """uint8 [H, S, S], S <= SIDE: the largest weight of each block of cells; 255 is the weight 1.

    Above WHOLE_TOKENS tokens, the options do not count.
    """
    cells = options.cells if text.trace.n_tokens <= head_map.WHOLE_TOKENS else AS_COMPUTED.cells
    if text.trace.n_tokens <= SIDE:
        return _of_every_layer(text, options)[layer]

    def make(trace: Trace) -> np.ndarray:
        if trace.n_tokens > head_map.WHOLE_TOKENS:  # the large maps of these heads need the same overview
            return aggregate.to_uint8(layer_overview(text, layer).coarser(SIDE))
        if cells == AS_COMPUTED.cells:  # without a whole layer's weights in memory
            return aggregate.to_uint8(trace.layer_thumbnails(layer, SIDE))
        return aggregate.to_uint8(head_map.small_maps(trace, layer, SIDE, **cells))

    return text.derived(("small maps", layer, *cells.values()), make)


def exact(text: cache.StoredRun, options: Options = AS_COMPUTED) -> np.ndarray:
    """float32 [L, H, R, C]: the maps of all heads, with all their numbers: L x H x T^2 of them, for short texts."""
    cells = options.cells

    def make(trace: Trace) -> np.ndarray:
        return head_map.layer_maps(trace, None, **cells).cpu().numpy()

    return text.derived(("maps", *cells.values()), make)


def _of_every_layer(text: cache.StoredRun, options: Options) -> np.ndarray:
    """uint8 [L, H, S, S]: the small maps of a short text."""
    what = ("small maps", *options.cells.values())
    return text.derived(what, lambda _: head_map.drawn_small(exact(text, options), SIDE))


def layer_overview(text: cache.StoredRun, layer: int) -> Overview:
    """The maps of all heads of a layer of a long text, in blocks of tokens."""
    return text.derived(("overviews", layer), lambda trace: long_map.layer_overview(trace, layer))


def known_overview(text: cache.StoredRun, layer: int) -> Overview | None:
    """`layer_overview` where it is computed already."""
    return cache.known(text.run, ("overviews", layer))


def during_the_pass(run: Run, draw: Callable[[int, np.ndarray], None]) -> None:
    """Run the encoder on a text, unless its trace is there. `draw` gets a layer's maps of a long text when it is done.

    layer, uint8 [H, S, S]. Maps and pass take a third less time together than one after the other.
    """

    def received(layer: int, seen: Overview) -> None:
        cache.keep(run, ("overviews", layer), seen)
        draw(layer, aggregate.to_uint8(seen.coarser(SIDE)))

    cache.trace(run, on_overview=received)


def by_layer(trace: Trace, make: Callable[[int], np.ndarray], doing: str) -> np.ndarray:
    """[L, ...]: `make` of each layer, with a progress bar for a long text."""
    return np.stack(each_layer(trace, make, doing))


def each_layer(trace: Trace, make: Callable[[int], V], doing: str, longer_than: int = LONG_TEXT) -> list[V]:
    """`make` of each layer, with a progress bar for a text of more tokens."""
    n_layers = trace.config.n_layers
    bar = st.progress(0.0, doing) if trace.n_tokens > longer_than else None
    layers = []
    for layer in range(n_layers):
        if bar is not None:
            bar.progress(layer / n_layers, f"{doing}: layer {layer} of 0 to {n_layers - 1} …")
        layers.append(make(layer))
    if bar is not None:
        bar.empty()
    return layers
