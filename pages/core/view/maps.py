"""Maps of heads from the stores: one for a page, small ones of all heads, and those that the forward pass gives.

Every page shares them: one entry for a head with its options, one for the small maps of a layer. `encoder.maps` decides
how each is computed.

Shapes: L layers, H heads, R rows, C columns, S cells.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import streamlit as st

from encoder import Trace, figures
from encoder import maps as weights
from encoder.export import Options
from encoder.figures.colours import is_by_opacity
from encoder.maps.aggregate import to_uint8
from encoder.maps.long_map import LongMap, layer_overview
from encoder.model.overview import Overview
from encoder.run import Run
from encoder.views.options import AS_COMPUTED
from pages.core.stores import cache, model_store
from pages.core.view.view import ViewParams
from pages.state import state

V = TypeVar("V")
#: Largest side of a small map, in cells.
SIDE = 64
#: Above this many tokens, all heads take seconds and a progress bar is drawn.
LONG_TEXT = 1_024
#: Pixels between two maps of a strip.
GAP = 2


def of_head(text: cache.StoredRun, options: Options, layer: int | None, head: int | None) -> weights.HeadMap:
    """The map of a head. layer, head: None to average over them."""
    cells = options.cells
    if weights.is_whole(text.trace):
        what = ("head map", layer, head, *cells.values())
        return text.derived(what, lambda trace: weights.head_map(trace, layer, head, **cells))  # type: ignore[no-any-return]
    return weights.head_map(text.trace, layer, head, seen=lambda: _overview(text, options, layer, head), **cells)


def _overview(text: cache.StoredRun, options: Options, layer: int | None, head: int | None) -> Overview:
    """The whole map of a long text in blocks of tokens. The small maps may have computed it already."""
    special = options.special
    if layer is not None and head is not None and special == "show":
        known = known_overview(text, layer)
        if known is not None:
            return known.of(head)
    what = ("overview", layer, head, special)
    return text.derived(what, lambda trace: LongMap(trace, layer, head, special).overview)  # type: ignore[no-any-return]


def of_layer(text: cache.StoredRun, layer: int, options: Options = AS_COMPUTED) -> np.ndarray:
    """uint8 [H, S, S], S <= SIDE: the small maps of a layer, for colours and not for numbers; 255 is the weight 1.

    The options count as far as `encoder.maps.followed` says.
    """
    if text.trace.n_tokens <= SIDE:
        return _of_every_layer(text, options)[layer]
    cells = weights.followed(text.trace, **options.cells)

    def make(trace: Trace) -> np.ndarray:
        return to_uint8(weights.small_maps(trace, layer, SIDE, seen=lambda: overviews(text, layer), **cells))

    return text.derived(("small maps", layer, *cells.values()), make)  # type: ignore[no-any-return]


def exact(text: cache.StoredRun, options: Options = AS_COMPUTED) -> np.ndarray:
    """float32 [L, H, R, C]: the maps of all heads, with all their numbers: L x H x T^2 of them, for short texts."""
    cells = options.cells

    def make(trace: Trace) -> np.ndarray:
        return weights.layer_maps(trace, None, **cells).cpu().numpy()

    return text.derived(("maps", *cells.values()), make)


def _of_every_layer(text: cache.StoredRun, options: Options) -> np.ndarray:
    """uint8 [L, H, S, S]: the small maps of a short text."""
    what = ("small maps", *options.cells.values())
    return text.derived(what, lambda _: weights.drawn(exact(text, options), SIDE))


def overviews(text: cache.StoredRun, layer: int) -> Overview:
    """The maps of all heads of a layer of a long text, in blocks of tokens."""
    return text.derived(("overviews", layer), lambda trace: layer_overview(trace, layer))


def known_overview(text: cache.StoredRun, layer: int) -> Overview | None:
    """`overviews` where it is computed already."""
    return cache.known(text.run, ("overviews", layer))


# --- layer by layer --------------------------------------------------------------------------------------------------


def during_the_pass(run: Run, draw: Callable[[int, np.ndarray], None]) -> None:
    """Run the encoder on a text, unless its trace is there. `draw` gets a layer's maps of a long text when it is done.

    layer, uint8 [H, S, S]. Maps and pass take a third less time together than one after the other.
    """

    def received(layer: int, seen: Overview) -> None:
        cache.keep(run, ("overviews", layer), seen)
        draw(layer, to_uint8(seen.coarser(SIDE)))

    cache.trace(run, on_overview=received)


def draw_during_the_pass(run: Run) -> None:
    """Run the encoder on a text, with the maps of each layer as soon as it is computed.

    What this draws is gone when the page is drawn. Raises EncoderError if the model cannot run.
    """
    config, colours = model_store.model(run.model).config, figures.thumbnails_lut(state.get(ViewParams.colours))
    place, rows = st.empty(), None

    def draw(layer: int, maps: np.ndarray) -> None:
        nonlocal rows
        rows = rows or place.container(key="first-maps")
        said = f"Layer {layer} of 0 to {config.n_layers - 1}, heads 0 to {config.n_heads - 1}"
        rows.image(strip(maps, colours), caption=said, alt=said, width="stretch")

    during_the_pass(run, draw)
    place.empty()


def strip(maps: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """uint8 [H, S, S] -> [S, H x (S + GAP), 4]: one row of maps in `colours` [256, 3], transparent between them."""
    n_heads, side, _ = maps.shape
    cells = np.zeros((n_heads, side, side + GAP, 4), np.uint8)
    cells[:, :, :side, :3] = colours[maps]
    cells[:, :, :side, 3] = maps if is_by_opacity(colours) else 255
    return cells.transpose(1, 0, 2, 3).reshape(side, -1, 4)


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
