"""Maps of a short text's heads, all of them in the browser before one is chosen: a click on the grid draws it at once.

At 64 tokens all 72 maps of MiniLM are 1.2 MB, sent once a sentence and after everything else. They are the numbers that
the large map shows, not the small maps' 256 shades. Python's answer, with the head's name and words, follows.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from encoder.measure import head_map
from encoder.trace import Trace
from pages.components import events
from pages.components.store import store
from pages.core import cache, model_access
from pages.core.view import View, state
from pages.heads.options import Options

#: Bytes of all maps of a text up to which they are sent: 72 heads at 64 tokens, 144 at 45. To visitors from elsewhere,
#: who may share the air of a classroom, a quarter of it: 72 heads at 32 tokens.
MOST_BYTES, MOST_BYTES_SHARED = 1_200_000, 300_000
#: Names of the grid's widget, and of the maps in the browser.
GRID, MAPS = "grid", "ready-maps"


def offered(view: View, options: Options, exact: bool) -> dict[str, Any] | None:
    """What `plot` needs to draw another head by itself; None where its map would be more than other numbers.

    exact: whether the map is drawn cell by cell.
    """
    if not (exact and _sent(view)) or (options.own and options.log):  # then the colour bar changes, too
        return None
    return {
        "grid": GRID,
        "heard": events.heard(GRID),
        "maps": {"name": MAPS, "digest": _digest(view, options)},
        "own": options.own,
    }


def send(view: View, options: Options) -> None:
    """Send the maps, where they are offered. At the end of the page: nothing waits for them."""
    if _sent(view) and state.get("view") == "map":
        what = ("ready maps", *options.cells.values())
        maps = cache.derived(view.model, view.text, view.pair, what, lambda trace: _maps(trace, options))
        store({"maps": maps}, key=MAPS, digest=_digest(view, options))


def _sent(view: View) -> bool:
    config = view.loaded.config
    most = MOST_BYTES if model_access.for_one_person() else MOST_BYTES_SHARED
    return 4 * config.n_layers * config.n_heads * view.trace.n_tokens**2 <= most


def _digest(view: View, options: Options) -> str:
    """Names the maps by what they were made of, as the large map is sent before they are made."""
    made_of = repr((view.model, view.text, view.pair, options.cells))
    return hashlib.blake2b(made_of.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _maps(trace: Trace, options: Options) -> np.ndarray:
    """float32 [L, H, R, C]: what the large map shows of every head."""
    layers = (head_map.layer_maps(trace, layer, **options.cells) for layer in range(trace.config.n_layers))  # type: ignore[arg-type]
    return np.stack([layer.cpu().numpy() for layer in layers])
