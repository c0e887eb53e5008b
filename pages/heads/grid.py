"""All heads at once: the grid of small maps, coloured, sorted and filtered by a measure; heads pinned side by side."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from encoder import figures
from encoder.measure import aggregate, head_map
from encoder.measure.definitions import BY_NAME
from encoder.measure.heads import HeadMeasures
from encoder.measure.roles import BY_NAME as ROLES
from pages.components import head_grid, plot
from pages.components.events import GridEvent
from pages.core import cache, head_measures, sidebar, small_maps
from pages.core.params import Head
from pages.core.view import View, state
from pages.heads import map as attention_view
from pages.heads import options as head_options
from pages.heads.options import Options, Selection

#: Columns of the container for pinned heads: as many as there are pins, fewer where the page is narrow.
PINS = "heads-pins"


# --- small maps ------------------------------------------------------------------------------------------------------


def thumbnails(view: View, options: Options | None = None) -> np.ndarray:
    """uint8 [L, H, S, S]: every head's small map with the options, 255 for the weight 1; for colours, not for numbers.

    Kept layer by layer, so that a long text shows its progress, and a visitor who goes on meanwhile loses none of it.
    """
    options = options if options is not None and head_options.is_whole(view) else Options()

    def draw(layer: int) -> np.ndarray:
        if options.usual:
            return small_maps.of_layer(view.model, view.text, view.pair, layer)
        return cache.derived(
            view.model,
            view.text,
            view.pair,
            ("small maps", layer, *options.cells.values()),
            lambda trace: aggregate.to_uint8(head_map.small_maps(trace, layer, small_maps.SIDE, **options.cells)),  # type: ignore[arg-type]
        )

    return small_maps.by_layer(view.trace, draw, "Drawing the small maps")


# --- the grid --------------------------------------------------------------------------------------------------------


def grid_controls() -> None:
    """Which measure colours the heads, and which role or range of it they must have to be seen at full strength."""
    left, right = st.columns([3, 2], gap="small")
    with left:
        state.bound(
            st.selectbox, "measure", "Measure", ["", *BY_NAME], label_visibility="collapsed",
            format_func=lambda name: BY_NAME[name].title if name else "Colour heads by a measure …",
        )  # fmt: skip
    with right:
        state.bound(
            st.selectbox, "role", "Role", ["", *ROLES], label_visibility="collapsed",
            format_func=lambda name: ROLES[name].title if name else "Any role",
        )  # fmt: skip


def _measure_controls(definition, values: np.ndarray, measures: HeadMeasures) -> tuple[float, float]:
    """Sorting, and the range to keep; the definition stands behind the question mark."""
    low, high = measure_range(definition.unit, values, measures)
    left, right = st.columns([5, 6], gap="small", vertical_alignment="bottom")
    with left:
        state.bound(
            st.segmented_control, "sort", definition.title, ["place", "falling", "rising"], required=True,
            format_func={"place": "by layer", "falling": "↓", "rising": "↑"}.get,
            help=f"{definition.sentence}\n\n$${definition.formula}$$\n\n{definition.source}.",
        )  # fmt: skip
    kept = state.get("keep") or (low, high)
    kept = (min(max(kept[0], low), high), max(min(kept[1], high), low))
    key = f"keep:{definition.name}:{high:g}"
    with right:
        st.session_state[key] = kept
        st.slider(
            f"Keep heads with ({definition.unit})" if definition.unit != "share" else "Keep heads with",
            low, high, step=0.01, key=key, on_change=_take_kept, args=(key, low, high),
        )  # fmt: skip
    return kept


def _take_kept(key: str, low: float, high: float) -> None:
    kept = tuple(st.session_state[key])
    state.put("keep", None if kept == (low, high) else kept)


def measure_range(unit: str, values: np.ndarray, measures: HeadMeasures) -> tuple[float, float]:
    """From nothing to the most that a measure can be on this text: 1, ln n; of distances the largest there is."""
    if unit == "share":
        return 0.0, 1.0
    if unit == "nats":
        return 0.0, math.ceil(100 * math.log(max(2, measures.n_tokens))) / 100
    finite = values[np.isfinite(values)]
    return 0.0, math.ceil(100 * (finite.max() if finite.size else 1.0)) / 100


def draw_grid(view: View, options: Options) -> None:
    """The grid with its controls; what a filter leaves out is faded, or missing when heads are sorted."""
    config = view.loaded.config
    shape = (config.n_layers, config.n_heads)
    pins = head_options.heads_of_model("pins", view)
    grid_controls()
    name, role = state.get("measure"), state.get("role")
    measured = bool(name or role) or view.trace.n_tokens <= small_maps.LONG_TEXT
    measures = head_measures.measures(view) if measured else None
    values, kept, look = None, np.ones(shape, bool), {}
    if name and measures is not None:
        values, definition = measures[name], BY_NAME[name]
        low, high = _measure_controls(definition, values, measures)
        kept &= _between(values, low, high, full=state.get("keep") is None)
        unit = "" if definition.unit == "share" else f" ({definition.unit})"
        look = {"measure": values, "measure_label": definition.title + unit}
        look["measure_range"] = measure_range(definition.unit, values, measures)
    if role:
        found = head_measures.found_roles(view)
        kept &= np.array([[any(one.role.name == role for one in head) for head in layer] for layer in found])
    order = sorted_heads(values, kept, state.get("sort")) if values is not None else None
    badges = head_measures.badges(view) if measured and state.get("badges") else {}
    head_grid(
        thumbnails(view, options),
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
        on_event=take_grid,
        **look,
    )
    _grid_sentence(view, options, kept, order is not None, bool(badges))


def _between(values: np.ndarray, low: float, high: float, full: bool) -> np.ndarray:
    """Which heads a range keeps; a head without a value only while no range is chosen."""
    if full:
        return np.ones(values.shape, bool)
    with np.errstate(invalid="ignore"):
        return (values >= low) & (values <= high)


def sorted_heads(values: np.ndarray, kept: np.ndarray, sort: str) -> list[Head] | None:
    """The heads that are kept, by their value; those without one last. None: in their places."""
    if sort == "place":
        return None
    sign = -1 if sort == "falling" else 1
    heads = [(int(layer), int(head)) for layer, head in zip(*np.nonzero(kept), strict=True)]
    return sorted(heads, key=lambda one: (math.isnan(values[one]), sign * values[one], one))


def _grid_sentence(view: View, options: Options, kept: np.ndarray, ordered: bool, roles: bool) -> None:
    said = []
    if not kept.all():
        rest = "the others are left out" if ordered else "the others are faded"
        said.append(f"{int(kept.sum())} of {kept.size} heads are kept, {rest}.")
    if not head_options.is_whole(view) and options.special != "show":
        said.append(f"Beyond {head_options.WHOLE_TOKENS} tokens the small maps show special tokens all the same.")
    elif not options.usual:
        said.append("The small maps follow the options.")
    said.append("Click opens a head, shift-click or P pins it." + (" A dot: it has a role." if roles else ""))
    st.caption(" ".join(said))


def take_grid(event: GridEvent) -> None:
    """What is done in the grid: open, pin, or with Esc let go of the selected tokens."""
    if event["event"] == "clear":
        head_options.hold((), ())
    elif event["event"] == "pin" or event.get("shift"):
        head_options.pin(event["layer"], event["head"])
    else:
        sidebar.open_head(event["layer"], event["head"])
        state.put("average", "none")


# --- pinned heads ----------------------------------------------------------------------------------------------------


def draw_pins(view: View, options: Options, held: Selection) -> None:
    """Up to four heads side by side: the same colours mean the same weights, a click selects in all of them."""
    pins = head_options.heads_of_model("pins", view)
    if not pins:
        return
    st.subheader("Pinned heads", anchor=False)
    if not head_options.is_whole(view):
        st.info(
            f"Pinned heads are drawn side by side up to {head_options.WHOLE_TOKENS} tokens; this text has "
            f"{view.trace.n_tokens:,}. They stay pinned."
        )
        return
    maps = [head_options.shown_map(view, options, *one) for one in pins]
    largest = max(float(one.weights.max()) for one in maps) if options.own else 1.0
    st.caption(
        f"All {len(pins)} with the same colours, from 0 to {largest:.3g}; what is selected in one is selected in all."
        if len(pins) > 1
        else "Pin up to three more heads to see them side by side, with the same colours and the same selection."
    )
    with st.container(key=f"{PINS}-{len(pins)}"):
        for (layer, head), shown in zip(pins, maps, strict=True):
            with st.container(gap="small"):
                _pinned(view, options, held, layer, head, shown, largest or 1.0)


def _pinned(view: View, options: Options, held: Selection, layer: int, head: int, shown, largest: float) -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.button(
            f"L{layer} H{head}", key=f"open:{layer}.{head}", type="tertiary", help="Open this head",
            on_click=sidebar.open_head, args=(layer, head),
        )  # fmt: skip
        st.button(
            f"Unpin L{layer} H{head}", icon=":material/keep_off:", key=f"unpin:{layer}.{head}",
            help=f"Take L{layer} H{head} away", on_click=head_options.pin, args=(layer, head), type="tertiary",
        )  # fmt: skip
    key = f"pin-{layer}-{head}"
    figure, _ = attention_view.head_figure(view, options, shown, held, key, scale=largest)
    plot(
        figure,
        key=key,
        alt=f"Attention map of the pinned layer {layer}, head {head}.",
        height=260,
        fill=True,
        on_event=lambda event: attention_view.take_click(event, view, options, shown, held, key),
    )
