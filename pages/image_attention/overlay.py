"""The image with the weights of the selected token over its patches, and the same for all heads."""

from __future__ import annotations

import numpy as np
import streamlit as st

from encoder import figures
from encoder.figures.numbers import three_digits
from encoder.measure import aggregate, patches
from encoder.measure.ranking import Weights
from encoder.trace.trace import Trace
from pages.components import head_grid
from pages.components.events import GridEvent
from pages.components.patch_map import PatchEvent, patch_map
from pages.core.frame import sidebar
from pages.core.inputs import image_input
from pages.core.view.view import View
from pages.core.widgets import answer
from pages.core.words import gestures, token_names
from pages.core.words.markdown import plain
from pages.image_attention import why
from pages.image_attention.params import OVERLAYS, Params
from pages.state.url_state import state

#: Classes that are named.
NAMED = 3
VERBS = {
    "attention": "attends most to",
    "weighted": "fetches most from",
    "rollout": "depends most (by rollout) on",
}


def token(view: View) -> int:
    """The token whose attention is shown: the selected one, otherwise the first, [CLS]."""
    return view.i if view.i is not None else 0


def draw_image(view: View) -> why.Measured | None:
    """The controls, the answer and the image. Returns the occlusion, where it was measured."""
    overlay = state.segmented(Params.overlay, "Over the image", OVERLAYS, label_visibility="collapsed")
    if overlay == "occlusion":
        return why.draw_image(view)
    row, over = weights_of(view, overlay)
    labels, grid, place = view.trace.labels, patches.grid(view.trace), token(view)
    where = f"L{view.layer}" if overlay == "rollout" else f"L{view.layer} H{view.head}"
    on_special = three_digits(float(row[: len(grid.before)].sum()))
    hint = "Select a patch to read its row." if view.i is None else ""
    with answer.area():
        answer.draw(
            f"{token_names.bold(labels, place)} {VERBS[overlay]} {answer.largest(row, labels)}.",
            f"{where}. On {', '.join(map(plain, grid.before))}, without a patch: {on_special}. {hint}",
            clear=None if view.i is None else lambda: sidebar.select(None, None),
        )
        patch_map(
            image_input.IMAGES.shown(view.loaded, view.text),
            over,
            key="patch-map",
            alt=f"The image in {grid.rows} x {grid.columns} patches, coloured by what {labels[place]} attends to.",
            colorscale=figures.thumbnails_lut(view.colours),
            label=f"{OVERLAYS[overlay]} of {labels[place]}",
            selected=grid.place(place),
            opacity=state.newest(Params.opacity),
            on_event=lambda event: _select(grid, event),
        )
        state.bound(st.slider, Params.opacity, "Opacity", min_value=0.0, max_value=1.0, step=0.05, width=200)
    return None


def weights_of(view: View, overlay: str) -> tuple[Weights, np.ndarray]:
    """[T], [R, C]: the weights of the token that is shown, and those on patches."""
    place = token(view)

    def make(trace: Trace) -> tuple[Weights, np.ndarray]:
        if overlay == "weighted":
            row = patches.weighted_row(trace, view.layer, view.head, place)
        elif overlay == "rollout":
            row = patches.rollout_rows(trace, place)[view.layer]
        else:
            row = trace.attention(view.layer, view.head, slice(place, place + 1))[0]
        return row.cpu(), patches.over_image(trace, row).cpu().numpy()

    return view.derived(("patch row", overlay, view.layer, view.head, place), make)


def _select(grid: patches.PatchGrid, event: PatchEvent) -> None:
    sidebar.select(None if event["event"] == "clear" else grid.token(event["row"], event["column"]), None)


def draw_heads(view: View) -> None:
    """A small map over the patches for every head."""
    config, place = view.loaded.config, token(view)

    def make(trace: Trace) -> np.ndarray:
        over = patches.over_image(trace, patches.rows_of_token(trace, place))
        return aggregate.to_uint8(over / over.amax(dim=(-1, -2), keepdim=True).clamp_min(1e-9))

    distances = distances_of(view)
    head_grid(
        view.derived(("patch maps", place), make),
        layers=config.n_layers,
        heads=config.n_heads,
        selected=(view.layer, view.head),
        key="patch-heads",
        alt=f"What {view.trace.labels[place]} attends to in all {config.n_layers * config.n_heads} heads.",
        colorscale=figures.thumbnails_lut(view.colours),
        measure=distances,
        measure_label="distance (pixels)",
        measure_range=(0.0, float(np.nan_to_num(distances).max()) or 1.0),
        on_event=_open,
    )
    gestures.caption(
        f"All heads, for {plain(view.trace.labels[place])}: each map has colours up to its own largest weight on a "
        f"patch. {gestures.CLICK} one to open it."
    )


def distances_of(view: View) -> np.ndarray:
    """[L, H]: the mean attention distance of every head."""
    return view.derived("patch distances", lambda trace: patches.attention_distances(trace).cpu().numpy())


def _open(event: GridEvent) -> None:
    if event["event"] == "open":
        sidebar.open_head(event["layer"], event["head"])
    elif event["event"] == "clear":
        sidebar.select(None, None)


def classes(view: View) -> None:
    """What the classification head names, with probabilities; nothing without a head."""
    if view.loaded.classifier is None:
        return
    found = view.derived("image classes", view.loaded.probabilities)
    best = sorted(found, key=found.__getitem__, reverse=True)[:NAMED]
    first, *others = (f"{plain(name)} ({found[name]:.1%})" for name in best)
    st.markdown(f"The model says **{first}**, then {', '.join(others)}." if others else f"The model says **{first}**.")
