"""The grid: a small map of every head, coloured, sorted and filtered by a measure or a head type."""

import math
from collections.abc import Mapping

import numpy as np
import streamlit as st

from encoder import figures
from encoder.export import Options
from encoder.export.options import AS_COMPUTED
from encoder.measure import telling
from encoder.measure.head_definitions import Definition
from encoder.measure.head_map import WHOLE_TOKENS
from encoder.measure.heads import HeadMeasures
from encoder.measure.ranking import largest_cell
from encoder.measure.tokens import sentences
from pages.components import head_grid
from pages.components.events import GridEvent
from pages.core.view import View, head_measures, selection, small_maps
from pages.core.widgets import over_image
from pages.core.widgets.compared import percent
from pages.core.widgets.comparison import EVERY_HEAD
from pages.core.words import gestures, token_names
from pages.heads import ask, image
from pages.heads import options as head_options
from pages.heads.compare import sides
from pages.heads.head_maps import is_whole
from pages.heads.params import Params, SideB
from pages.state import Head, controlled, state

DIFFERS = "share of attention that differs"


def thumbnails(view: View, options: Options) -> np.ndarray:
    """uint8 [L, H, S, S]: every head's small map; of a long text without options."""
    return small_maps.by_layer(
        view.trace, lambda layer: small_maps.of_layer(view, layer, options), "Drawing the small maps"
    )


def draw_grid(view: View, options: Options) -> None:
    """The grid with its controls. Heads that a filter leaves out are faded or, in a sorted grid, hidden."""
    config = view.loaded.config
    pins = head_options.heads_of_model(Params.pins, view)
    known = head_measures.offered(view.trace)
    name, head_type = _controls(view, known)
    caption = []
    maps = image.small_maps(view) if head_options.shown_view(view) == "text" and view.trace.kind == "image" else None
    measured = bool(name or head_type) or view.trace.n_tokens <= small_maps.LONG_TEXT
    measures = head_measures.measures(view) if measured else None
    kept, order, look = np.ones((config.n_layers, config.n_heads), bool), None, {}
    if head_type:
        found = head_measures.found_types(view)
        kept &= np.array([[any(one.head_type.name == head_type for one in head) for head in layer] for layer in found])
    word = state.get(Params.word)
    if name and measures is not None:
        values, definition = measures[name], known[name]
        limits = measure_range(definition.unit, values, measures)
        sort = _sort_control(definition)
        keep = _range_control(definition, *limits)
        if keep != limits:  # a head without a value is kept until a range is chosen
            with np.errstate(invalid="ignore"):
                kept &= (values >= keep[0]) & (values <= keep[1])
        unit = "" if definition.unit in ("share", "number") else f" ({definition.unit})"
        look = {"measure": values, "measure_label": definition.title + unit, "measure_range": limits}
        order = sorted_heads(values, kept, sort)
    elif word is not None:
        values = ask.gains(view, word)
        sort = _sort_control(telling.DEFINITION)
        look = {"measure": values, "measure_label": f"{ask.title(view, word)} (nats)", "measure_range": _up_to(values)}
        order = sorted_heads(values, kept, sort)
        if order is not None:
            order = order[: ask.LISTED]
    elif state.get(Params.view) == "beside" and (values := sides.by_head(view)) is not None:
        most = largest_cell(values)
        look = {"measure": values, "measure_label": DIFFERS, "measure_range": _up_to(values)}
        where = f"L{most[0]} H{most[1]}: {percent(float(values[most]))}"
        caption.append(f"Bar: {DIFFERS} (total variation distance, mean over queries), largest in {where}.")
    elif maps is not None:
        values = image.distances(view)
        look = {"measure": values, "measure_label": "attention distance (pixels)", "measure_range": _up_to(values)}
    sharing = config.n_heads // config.n_kv_heads
    if sharing > 1:
        caption.append(
            f"Grouped-query attention: a line under the names joins {sharing} heads of queries that share one head of "
            f"keys and values ({config.n_heads} share {config.n_kv_heads})."
        )
    badges = head_measures.badges(view) if measured and state.get(Params.badges) else {}
    head_grid(
        thumbnails(view, options) if maps is None else maps,
        layers=config.n_layers,
        heads=config.n_heads,
        selected=(view.layer, view.head),
        key="grid",
        alt=f"Attention maps of all {config.n_layers * config.n_heads} heads, layers downwards, heads to the right.",
        colorscale=figures.thumbnails_lut(view.colours),
        badges=badges,
        dim=None if kept.all() or order is not None else ~kept,
        order=order,
        pinned=pins,
        divide=_second_sentence(view, options),
        sharing=sharing if sharing > 1 else 0,
        on_event=_on_event,
        **look,
    )
    if order is not None and len(order) < kept.sum():
        caption.append(f"{len(order)} of {int(kept.sum())} heads, by their information gain.")
    if not kept.all():
        rest = "faded" if order is None else "hidden"
        caption.append(f"{int(kept.sum())} of {kept.size} heads match; the others are {rest}.")
    if not is_whole(view) and options.special != "show":
        caption.append(f"Above {WHOLE_TOKENS} tokens, the small maps always show special tokens.")
    elif maps is not None:
        name = token_names.plain(view.trace.labels, over_image.token(view))
        caption.append(f"Each map: what {name} attends to; colours up to the head’s own largest weight on a patch.")
    elif options.cells != AS_COMPUTED.cells:
        caption.append("The small maps use the same options.")
    if state.get(Params.view) == "beside" and view.trace.n_tokens > EVERY_HEAD:
        caption.append(f"Every head is compared up to {EVERY_HEAD:,} tokens.")
    opens = "compare it with this one" if _chooses_b() else "open it"
    caption.append(f"{gestures.CLICK} a head to {opens}; {gestures.SHIFT_CLICK} or press P to pin it.")
    gestures.caption(" ".join(caption))
    if badges:
        st.caption(head_measures.badge_legend(view.trace, badges.values()))


def _up_to(values: np.ndarray) -> tuple[float, float]:
    """0 to the largest value."""
    return 0.0, float(np.nan_to_num(values).max()) or 1.0


def _second_sentence(view: View, options: Options) -> float | None:
    """The share of a small map's side at which the second sentence of a pair begins; None without a border."""
    if view.pair is None or options.cells != AS_COMPUTED.cells:
        return None
    of = sentences(view.trace)
    return of.index(1) / len(of) if 1 in of else None


def _controls(view: View, known: Mapping[str, Definition]) -> tuple[str, str]:
    """The measure that colours the heads, of the known ones, and the head type that they must have; "" for none."""
    left, right = st.columns([3, 2], gap="small")
    with left:
        titles = {"": "Colour heads by a measure …"} | {name: one.title for name, one in known.items()}
        measure = state.selectbox(Params.measure, "Measure", titles, label_visibility="collapsed")
    with right:
        head_type = head_measures.type_filter(view.trace, "Any head type", label_visibility="collapsed")
    return measure, head_type


def _sort_control(definition: Definition) -> str:
    return state.segmented(
        Params.sort, definition.title, {"place": "By layer", "falling": "↓", "rising": "↑"},
        help=definition.about,
    )  # fmt: skip


def _range_control(definition: Definition, low: float, high: float) -> tuple[float, float]:
    first, last = state.get(Params.keep) or (low, high)
    return controlled(
        st.slider,
        "Show heads with" if definition.unit in ("share", "number") else f"Show heads with ({definition.unit})",
        low,
        high,
        step=0.01,
        key=f"keep:{definition.name}:{high:g}",
        value=(min(max(first, low), high), max(min(last, high), low)),
        take=lambda keep: state.put(Params.keep, None if keep == (low, high) else keep),
    )


def measure_range(unit: str, values: np.ndarray, measures: HeadMeasures) -> tuple[float, float]:
    """The smallest and largest value that a measure can have in this text: 0, or that of any head where it may be less;
    at most 1, ln n, or that of any head."""
    if unit == "share":
        return 0.0, 1.0
    if unit == "nats":
        return 0.0, math.ceil(100 * math.log(max(2, measures.n_tokens))) / 100
    finite = values[np.isfinite(values)]
    low = math.floor(100 * finite.min(initial=0.0)) / 100
    return low, max(math.ceil(100 * finite.max(initial=-math.inf if finite.size else 1.0)) / 100, low + 0.01)


def sorted_heads(values: np.ndarray, kept: np.ndarray, sort: str) -> list[Head] | None:
    """The kept heads by their value, those without a value last. None: in the order of layers."""
    if sort == "place":
        return None
    sign = -1 if sort == "falling" else 1
    heads = [(int(layer), int(head)) for layer, head in zip(*np.nonzero(kept), strict=True)]
    return sorted(heads, key=lambda one: (math.isnan(values[one]), sign * values[one], one))


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
