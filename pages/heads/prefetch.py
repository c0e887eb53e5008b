"""The maps of all heads of a short text, sent to the browser in advance: a click on the grid draws a map at once.

At 64 tokens, the 72 maps of MiniLM are 1.2 MB. They are sent once per text, after the rest of the page, with the exact
numbers of the large map. The head's name and its list follow when Python answers.
"""

from __future__ import annotations

import hashlib
from typing import Any

from encoder.export import Map
from encoder.measure import tokens
from pages.components import events
from pages.components.store import store
from pages.core import model_access, small_maps
from pages.core.view import View

#: Largest size of all maps of a text in bytes: 72 heads at 64 tokens. Visitors of a shared server, who may share one
#: wireless network, get a quarter of it.
MOST_BYTES, MOST_BYTES_SHARED = 1_200_000, 300_000
#: Keys of the grid, and of the maps in the browser.
GRID, MAPS = "grid", "prefetched-maps"


def offered(view: View, head: Map) -> dict[str, Any] | None:
    """What `plot` needs to draw another head by itself; None if its map has to come from Python."""
    options = head.options
    follows = options.scale_to_max or options.scale_to_words
    if not (head.is_exact and _is_short(view)) or (follows and options.log):  # the logarithmic bar is another trace
        return None
    content = tokens.is_content(view.trace)
    words = [[k for k, place in enumerate(side) if content[place]] for side in head.shown.places]
    return {
        "grid": GRID,
        "heard": events.heard(GRID),
        "maps": {"name": MAPS, "digest": _digest(view, head)},
        "scaleToMax": options.scale_to_max,
        "words": words if options.scale_to_words else None,
    }


def send(view: View, head: Map) -> None:
    """Send the maps of a short text. Call it last: nothing else should wait for them."""
    if not _is_short(view):
        return
    store({"maps": small_maps.exact(view, head.options)}, key=MAPS, digest=_digest(view, head))


def _is_short(view: View) -> bool:
    config = view.loaded.config
    most = MOST_BYTES if model_access.for_one_person() else MOST_BYTES_SHARED
    return 4 * config.n_layers * config.n_heads * view.trace.n_tokens**2 <= most


def _digest(view: View, head: Map) -> str:
    """A name for the maps, known before they are computed."""
    made_of = repr((view.model, view.text, view.pair, head.options.cells))
    return hashlib.blake2b(made_of.encode("utf-8", "replace"), digest_size=12).hexdigest()
