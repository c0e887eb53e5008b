"""The map of a head that you open in the grid, drawn before the page's answer, which has its name and list.

Of a short text, the exact maps of all heads are sent in advance, once per text, after the rest of the page: at 64
tokens, the 72 maps of MiniLM are 1.2 MB. Of a longer text, the browser asks a channel for the figure only.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from encoder import ConfigError
from encoder.export import Map, Options
from encoder.figures import colours
from encoder.measure import ranking
from encoder.trace import tokens
from pages.base.access import visitors
from pages.components import events
from pages.components.headers import NextHead
from pages.components.plot import figure_answer
from pages.components.store import store
from pages.core.server import channel
from pages.core.stores import cache
from pages.core.stores.byte_cache import ByteCache
from pages.core.view import View, maps
from pages.core.view.selection import Selection, selected
from pages.heads.head_maps import digest, drawn, head_figure
from pages.heads.options import HEAD

#: Largest size of all maps of a text in bytes: 72 heads at 64 tokens. Visitors of a shared server, who may share one
#: wireless network, get a quarter of it.
MOST_BYTES, MOST_BYTES_SHARED = 1_200_000, 300_000
#: Keys of the grid, and of the maps in the browser.
GRID, MAPS = "grid", "prefetched-maps"
CHANNEL = "head"
#: Makes the channel's ids impossible to guess.
_SECRET = secrets.token_bytes(32)


@dataclass(frozen=True)
class Page:
    """All that the figure of a head depends on, except for layer and head. window: of its plot."""

    run: cache.StoredRun
    options: Options
    colours: str
    selection: Selection
    window: events.ZoomWindow | None


#: The pages that browsers ask the channel about. They hold texts and no traces.
_PAGES = ByteCache(16_000_000)


def offered(view: View, head: Map, window: events.ZoomWindow | None) -> NextHead | None:
    """What `plot` needs to draw another head by itself; None for a logarithmic scale of a short text."""
    by: NextHead = {"grid": GRID, "heard": events.heard(GRID), "named": HEAD}
    options = head.options
    if not _is_short(view):
        run = cache.StoredRun(view.run.of_pass)
        page = Page(run, options, head.colours, selected(view), None if head.is_exact else window)
        return {**by, "channel": channel.path(CHANNEL, _kept(page))}
    follows = options.scale_to_max or options.scale_to_words
    if follows and options.log:  # the logarithmic bar is another trace
        return None
    content = tokens.is_content(view.trace)
    words = [[k for k, place in enumerate(side) if content[place]] for side in head.shown.places]
    return {
        **by,
        "maps": {"name": MAPS, "digest": digest(view, head.options.cells)},
        "scaleToMax": options.scale_to_max,
        "words": words if options.scale_to_words else None,
        "least": ranking.uniform(view.trace),
        "scales": [colours.sequential(head.colours), colours.stepped(head.colours)],
        "step": colours.STEP,
    }


def send(view: View, head: Map) -> None:
    """Send the maps of a short text. Call it last: nothing else should wait for them."""
    if not _is_short(view):
        return
    store({"maps": maps.exact(view, head.options)}, key=MAPS, digest=digest(view, head.options.cells))


def _is_short(view: View) -> bool:
    config = view.loaded.config
    most = MOST_BYTES if visitors.for_one_person() else MOST_BYTES_SHARED
    return 4 * config.n_layers * config.n_heads * view.trace.n_tokens**2 <= most


def _kept(page: Page) -> str:
    """The page's id on the channel: whoever has it has seen this text."""
    identity = hashlib.blake2b(repr(page).encode("utf-8", "replace"), key=_SECRET, digest_size=16).hexdigest()
    return str(_PAGES.get(identity, lambda: (identity, page), _n_bytes)[0])


def _n_bytes(entry: tuple[str, Page]) -> int:
    run = entry[1].run.run
    return 4 * (len(run.input.name) + len(run.pair or "")) + 2_000


def answer(identity: str, query: Mapping[str, str]) -> bytes | None:
    """The channel's answer: a head's figure, while the server has the trace of its text.

    Raises ConfigError for a layer or head that is not there.
    """
    page: Page | None = (_PAGES.known(identity) or (None, None))[1]
    if page is None or not cache.is_traced(page.run.run):
        return None
    try:
        layer, head = int(query["layer"]), int(query["head"])
    except (KeyError, ValueError) as error:
        raise ConfigError("This address is not complete: it needs layer and head. Reload the page.") from error
    if min(layer, head) < 0:
        raise ConfigError(f"No layer {layer}, head {head}: both count from 0. Reload the page.")
    map_ = drawn(page.run, page.options, layer, head, page.selection, page.colours)
    figure, _ = head_figure(map_, page.window)
    return figure_answer(figure, (map_.queries, map_.keys))


channel.register(CHANNEL, answer, computes=True)
