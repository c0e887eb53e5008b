"""The map of a head with the page's options, computed once for all sessions, and its figure."""

import hashlib

import numpy as np

from encoder import export, figures
from encoder.export import Map, Options
from encoder.figures.numbers import three_digits
from encoder.maps import EXACT_TOKENS
from encoder.measure import ranking
from pages.components.events import ZoomWindow
from pages.core.inputs.input_words import words_of
from pages.core.stores.cache import StoredRun
from pages.core.view import View, maps
from pages.core.view.map_window import zoomed
from pages.core.view.selection import Selection, selected
from pages.core.words import gestures
from pages.state import Head


def single(head: Map) -> Head | None:
    """Layer and head of a map; None for an average."""
    layer, number = head.heads[0]
    return None if layer is None or number is None else (layer, number)


def map_of(view: View, options: Options, layer: int | None, head: int | None) -> Map:
    """The map with the selected tokens. layer, head: None to average over them."""
    return drawn(view, options, layer, head, selected(view), view.colours)


def digest(view: View, *look: object) -> str:
    """A name for maps of this text, known before they are computed. look: what else changes them."""
    return hashlib.blake2b(repr((view.run.of_pass, look)).encode("utf-8", "replace"), digest_size=12).hexdigest()


def drawn(
    text: StoredRun, options: Options, layer: int | None, head: int | None, selection: Selection, colours: str
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
        shown=maps.of_head(text, options, layer, head),
    )


#: Below this weight, a scale from 0 to 1 shows almost no colour.
FAINT = 0.1


def head_figure(head: Map, window: ZoomWindow | None, scale: float | None = None) -> tuple[dict, str]:
    """A map as a plain figure, and its caption. window: what its plot shows; scale: the weight at which colours end."""
    shown = head.shown
    look = {
        "log": head.options.log,
        "colours": head.colours,
        "selected": (head.queries, head.keys),
        "parts": head.parts,
    }
    if head.is_exact:
        figure = figures.attention_spec(
            shown.weights,
            shown.query_labels,
            key_labels=shown.key_labels,
            square=False,
            places=shown.places,
            scale=scale or head.scale(np.asarray(shown.weights), 1),
            **look,
        )
        return figure, " ".join(head.options.map_sentences()) + _range(figure, head)
    n_tokens = head.trace.n_tokens
    queries, keys = zoomed(window, n_tokens)
    weights, block = shown.pooled(EXACT_TOKENS, queries, keys)
    weights = weights.cpu()
    figure = figures.window_spec(
        weights,
        shown.key_labels,
        block=block,
        row_offset=queries.start,
        column_offset=keys.start,
        scale=scale or head.scale(weights.numpy(), block, (queries.start, keys.start)),
        **look,
    )
    if block == 1:
        caption = (
            f"Rows: tokens {queries.start:,} to {queries.stop - 1:,}. Columns: tokens {keys.start:,} to "
            f"{keys.stop - 1:,}. Each cell is one weight; a row's sum also counts hidden keys. "
            f"{gestures.invitation(f'{gestures.DOUBLE_CLICK} to see the whole map.')} "
            f"{' '.join(head.options.map_sentences())}"
        )
    else:
        caption = (
            f"{n_tokens:,} tokens: each cell shows the largest weight among {block} × {block} token pairs. "
            + gestures.invitation(
                f"{gestures.either('Drag', 'Choose the magnifier, then drag')} over a part to zoom in."
            )
        )
    return figure, caption + _range(figure, head)


def _range(figure: dict, head: Map) -> str:
    """Where the colours end; a hint where all weights are too small for a scale from 0 to 1."""
    drawn = figure["data"][0]
    cells, end = np.asarray(drawn["z"]), float(drawn["colorbar"].get("tickvals", [drawn["zmax"]])[-1])
    known = ~np.isnan(cells)
    largest = float(np.max(cells, initial=0.0, where=known))
    if head.options.scale_to_words and largest > end:
        others = words_of(head.trace).not_special
        why = f"the largest weight between {others}"
        if end <= ranking.uniform(head.trace) * (1 + 1e-6):
            why = f"the weight of each token in uniform attention; weights between {others} are not larger"
        return f" The colours end at {three_digits(end)}, {why}; larger weights are purple."
    if end < 1 or head.options.log or largest >= FAINT or not known.any():
        return ""
    return (
        f" The largest weight is {three_digits(largest)}. To see it well, choose Options, Colour range, “Fit to map”."
    )
