"""The grid: a small map of every head, coloured, sorted and filtered by a measure or a head type."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import streamlit as st

from encoder import figures
from encoder.drawing.headers import StoredArrays
from encoder.export import Options
from encoder.maps import beyond
from encoder.trace.tokens import sentences
from encoder.views.options import AS_COMPUTED
from pages.components import head_grid
from pages.components.button import button
from pages.components.events import GridEvent
from pages.components.head_grid import store_maps
from pages.core.inputs.input_words import words_of
from pages.core.view import View, head_measures, maps, selection
from pages.core.widgets import over_image
from pages.core.widgets.comparison import EVERY_HEAD
from pages.core.words import gestures, token_names
from pages.heads import ask, colourings, image
from pages.heads import options as head_options
from pages.heads.compare import sides
from pages.heads.head_maps import digest
from pages.heads.params import AllHeads, Params, SideB
from pages.heads.types import page as types
from pages.state import Head, state
from pages.state.bare import is_bare

#: Of the grid.
KEY = "grid"
#: The gesture that pins a head; a touch screen has no keys.
PIN = gestures.either("shift-click or press P", "long press")


def thumbnails(view: View, options: Options) -> np.ndarray:
    """uint8 [L, H, S, S]: every head's small map; of a long text without options."""
    return maps.by_layer(view.trace, lambda layer: maps.of_layer(view, layer, options), "Drawing the small maps")


def draw(view: View, options: Options, head_type: str) -> None:
    """The grid. Heads that a filter leaves out are faded or, in a sorted grid, hidden. head_type: "" for any."""
    config = view.loaded.config
    kept, order, look = _of_type(view, head_type), None, {}
    if (colouring := colourings.chosen(view)) is not None:
        look = {"measure": colouring.values, "measure_label": colouring.title, "measure_range": colouring.limits}
        kept, order = colouring.arranged(kept)
    over = image.small_maps(view) if colourings.over_image(view) else None
    badges = _badges(view, measured=bool(state.get(Params.measure) or head_type))
    types = head_measures.offered_types(view.trace).values()
    sharing = config.n_heads // config.n_kv_heads
    head_grid(
        _label(view, options) if over is None else over,
        layers=config.n_layers,
        heads=config.n_heads,
        selected=(view.layer, view.head),
        key=KEY,
        alt=f"Attention maps of all {config.n_layers * config.n_heads} heads, layers downwards, heads to the right.",
        colorscale=figures.thumbnails_lut(view.colours),
        badges=badges,
        badge_titles={one.badge: one.title for one in types},
        badge_marks={one.badge: one.mark for one in types},
        dim=None if kept.all() or order is not None else ~kept,
        order=order,
        pinned=head_options.heads_of_model(Params.pins, view),
        divide=_second_sentence(view, options),
        sharing=sharing if sharing > 1 else 0,
        on_event=_on_event,
        **look,
    )
    said = ["" if colouring is None else colouring.caption, *_caption(view, options, kept, order)]
    gestures.caption(" ".join(filter(None, said)))


def rest(view: View, options: Options, head_type: str) -> None:
    """What of the grid is the same for every open head: the small maps, and what their marks say."""
    if not colourings.over_image(view):
        store_maps(thumbnails(view, options), figures.thumbnails_lut(view.colours), _label(view, options))
    if badges := _badges(view, measured=bool(state.get(Params.measure) or head_type)):
        st.caption(head_measures.badge_legend(view.trace, badges.values(), marks=True))
        button("All heads by type", "category", "by-type", partial(state.put, AllHeads.part, "roles"), type="tertiary")


def _label(view: View, options: Options) -> StoredArrays:
    """The name and the digest of the small maps, known before they are computed."""
    return {"name": f"{KEY}-maps", "digest": digest(view, options.cells, view.colours)}


def _of_type(view: View, head_type: str) -> np.ndarray:
    """[L, H], bool: the heads of a type; all of them for ""."""
    if not head_type:
        return np.ones((view.loaded.config.n_layers, view.loaded.config.n_heads), bool)
    found = head_measures.found_types(view)
    return np.array([[any(one.head_type.name == head_type for one in head) for head in layer] for layer in found])


def _badges(view: View, *, measured: bool) -> Mapping[str, str]:
    """ "L0H3" -> the badge of its type. measured: whether the measures of all heads are needed anyway."""
    is_quick = measured or view.trace.n_tokens <= maps.LONG_TEXT
    return head_measures.badges(view) if is_quick and state.get(Params.badges) else {}


def types_of_head(view: View) -> str:
    """The titles of the open head's types, where the grid marks types; "" without one."""
    if not _badges(view, measured=False):
        return ""
    titles = head_measures.offered_types(view.trace)
    return ", ".join(titles[one.head_type.name].title for one in head_measures.found_types(view)[view.layer][view.head])


def _caption(view: View, options: Options, kept: np.ndarray, order: list[Head] | None) -> Iterator[str]:
    """What the grid shows and leaves out, and what a click does. kept: [L, H], bool; order: of a sorted grid."""
    config = view.loaded.config
    if (sharing := config.n_heads // config.n_kv_heads) > 1:
        yield (
            f"Grouped-query attention: a line under the names joins {sharing} heads of queries that share one head of "
            f"keys and values ({config.n_heads} share {config.n_kv_heads})."
        )
    if order is not None and len(order) < kept.sum():
        yield f"{len(order)} of {int(kept.sum())} heads, by their {ask.order(view)}."
    if not kept.all():
        rest = "faded" if order is None else "hidden"
        yield f"{int(kept.sum())} of {kept.size} heads match; the others are {rest}."
    if options.special != "show" and (said := beyond(view.trace, "Small maps follow the options")):
        yield said
    elif colourings.over_image(view):
        name = token_names.plain(view.trace.labels, over_image.token(view))
        part = words_of(view.trace).part
        yield f"Each map: what {name} attends to; colours up to the head’s own largest weight on a {part}."
    elif options.cells != AS_COMPUTED.cells:
        yield "The small maps use the same options."
    if state.get(Params.view) == "beside" and view.trace.n_tokens > EVERY_HEAD:
        yield f"Every head is compared up to {EVERY_HEAD:,} tokens."
    opens = "compare it with this one" if _chooses_b() else "open it"
    yield gestures.invitation(f"{gestures.CLICK} a head to {opens}; {PIN} to pin it.")


def _second_sentence(view: View, options: Options) -> float | None:
    """The share of a small map's side at which the second sentence of a pair begins; None without a border."""
    if view.pair is None or options.cells != AS_COMPUTED.cells:
        return None
    of = sentences(view.trace)
    return of.index(1) / len(of) if 1 in of else None


def controls(view: View) -> str:
    """What the grid shows, and in a drawer the measure that colours the heads and the type that they must have.

    Returns this type, "" for any.
    """
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        types.choose(view)
        # Drawn while it is closed, as in `answer`: a part of the page follows.
        drawer = None if is_bare() else st.popover("Adjust", icon=":material/tune:", key="adjust-grid", width="content")
    known, offered = head_measures.offered(view.trace), head_measures.offered_types(view.trace)
    if drawer is not None:
        with drawer:
            titles = {"": "None"} | {name: one.title for name, one in known.items()}
            state.selectbox(Params.measure, "Colour heads by a measure", titles)
            return head_measures.type_filter(view.trace, "Any head type")
    for param, names in ((Params.measure, known), (head_measures.HeadTypeParams.head_type, offered)):
        if state.newest(param) not in {"", *names}:  # of another input
            state.put(param, "")
    return state.newest(head_measures.HeadTypeParams.head_type)


def _chooses_b() -> bool:
    """Whether a click chooses the other one of two heads."""
    return state.get(Params.view) == "beside" and state.get(SideB.what) == "heads"


def _on_event(event: GridEvent) -> None:
    """Open or pin a head, or clear the selection; next to the open head, choose the other one."""
    if event["event"] == "clear":
        selection.clear()
    elif event["event"] == "pin" or event.get("shift"):
        head_options.toggle_pin(event["layer"], event["head"])
    elif state.get(Params.view) == "beside":
        sides.open_head(state.get(SideB.what), event["layer"], event["head"])
    else:
        selection.open_head(event["layer"], event["head"])
        state.put(Params.average, "none")
