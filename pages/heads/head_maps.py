"""The map of a head with the page's options, computed once for all sessions."""

from __future__ import annotations

from encoder import export
from encoder.export import Map, Options
from encoder.measure import head_map
from encoder.measure.aggregate import SpecialTokens
from encoder.measure.head_map import WHOLE_TOKENS, HeadMap
from encoder.measure.tiled_attention import LongMap
from encoder.model.overview import Overview
from pages.core.stores.cache import TracedText
from pages.core.view import small_maps
from pages.core.view.view import View
from pages.heads.selection import Selection, selected
from pages.state.params import Head


def is_whole(view: TracedText) -> bool:
    """Whether maps of this text are computed as a whole."""
    return view.trace.n_tokens <= WHOLE_TOKENS


def single(head: Map) -> Head | None:
    """Layer and head of a map; None for an average."""
    layer, number = head.heads[0]
    return None if layer is None or number is None else (layer, number)


def map_of(view: View, options: Options, layer: int | None, head: int | None) -> Map:
    """The map with the selected tokens. layer, head: None to average over them."""
    return drawn(view, options, layer, head, selected(view), view.colours)


def drawn(
    text: TracedText, options: Options, layer: int | None, head: int | None, selection: Selection, colours: str
) -> Map:
    """`map_of` a text that need not be the one on the page."""
    return export.map(
        text.trace,
        layer,
        head,
        queries=selection.queries,
        keys=selection.keys,
        options=options,
        colours=colours,
        shown=weights_of(text, options, layer, head),
    )


def weights_of(view: TracedText, options: Options, layer: int | None, head: int | None) -> HeadMap:
    """The weights of `map_of`."""
    if not is_whole(view):
        special = options.special
        return LongMap(view.trace, layer, head, special, lambda: overview(view, layer, head, special))
    return view.derived(
        ("head map", layer, head, *options.cells.values()),
        lambda trace: head_map.dense_map(trace, layer, head, **options.cells),
    )


def overview(view: TracedText, layer: int | None, head: int | None, special: SpecialTokens = "show") -> Overview:
    """The whole map of a long text in blocks of tokens. The grid may have computed it already."""
    if layer is not None and head is not None and special == "show":
        known = small_maps.known_overview(view, layer)
        if known is not None:
            return known.of(head)
    return view.derived(
        ("overview", layer, head, special),
        lambda trace: LongMap(trace, layer, head, special).overview,
    )
