"""Which patches the result depends on: each is covered, and the fall is compared with attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from pages.image_attention.params import Params

from encoder.causal import occlusion
from encoder.errors import EncoderError
from encoder.figures.colours import signed_lut
from encoder.figures.numbers import three_digits
from encoder.measure import patches
from encoder.trace.trace import Trace
from pages.components.patch_map import PatchEvent, patch_map
from pages.core.frame import sidebar
from pages.core.inputs import image_input
from pages.core.view.view import View
from pages.core.widgets import answer
from pages.core.widgets.occlusion import Occlusion, agreement, controls, draw_curves
from pages.core.words.markdown import plain, say_error
from pages.state.url_state import state


@dataclass(frozen=True)
class Measured:
    """falls [P]: of the outcome, when each patch alone is covered; None while they wait for a click."""

    covered: Occlusion
    falls: np.ndarray | None


def measure(view: View) -> Measured | None:
    """Draw the controls and measure; None, and a box that says why, where that does not work."""
    try:
        covered = controls(view)
        return Measured(covered, covered.alone())
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
        return None


def draw_image(view: View) -> Measured | None:
    """The fall for each patch, over the image."""
    above = st.container()  # the controls follow the image, which stays in the window
    found = measure(view)
    if found is None or found.falls is None:
        return found
    with above:
        _overlay(view, found.covered, found.falls)
    return found


def _overlay(view: View, covered: Occlusion, falls: np.ndarray) -> None:
    grid = patches.grid(view.trace)
    names = view.trace.labels[len(grid.before) :]
    best = [int(part) for part in np.argsort(-falls, kind="stable")[: answer.NAMED] if falls[part] > 0]
    largest = ", ".join(f"{names[part]} {three_digits(float(falls[part]))}" for part in best) or "none"

    def select(event: PatchEvent) -> None:
        sidebar.select(None if event["event"] == "clear" else grid.token(event["row"], event["column"]), None)

    with answer.area():
        answer.draw(
            f"Occlusion one patch lowers the {plain(covered.measured)} most at: {largest}.",
            "Teal: the outcome falls where the patch is covered. Orange: it rises.",
            clear=None if view.i is None else lambda: sidebar.select(None, None),
        )
        patch_map(
            image_input.IMAGES.shown(view.loaded, view.text),
            falls.reshape(grid.rows, grid.columns),
            key="patch-map",
            alt=f"The image in {grid.rows} x {grid.columns} patches, coloured by the fall when each is covered.",
            colorscale=signed_lut(),
            label=f"Fall of the {covered.measured}",
            selected=None if view.i is None else grid.place(view.i),
            opacity=state.newest(Params.opacity),
            signed=True,
            on_event=select,
        )
        state.bound(st.slider, Params.opacity, "Opacity", min_value=0.0, max_value=1.0, step=0.05, width=200)


def draw(view: View, found: Measured | None) -> Measured | None:
    """The curves of deletion. found: what the overlay measured already. Returns it, or what is measured here."""
    st.header("Which patches does the result depend on?", anchor=False)
    st.markdown(
        "Attention shows where a head attends. Occlusion covers patches and measures what the result loses.  \n"
        "Look for orders above the grey band: they find patches that matter better than chance."
    )
    if state.newest(Params.overlay) != "occlusion":
        found = measure(view)
    if found is None or found.falls is None:
        return None
    place = 0 if view.i is None else view.i
    name = plain(view.trace.labels[place])

    def weights(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        row = trace.attention(view.layer, view.head, slice(place, place + 1))[0]
        rows = patches.rollout_rows(trace, place)
        return occlusion.by_part(trace, row, None), occlusion.by_part(trace, rows[-1], None)

    of_head, of_rollout = view.derived(("weights by part", view.layer, view.head, place), weights)
    head = f"attention of {name} in L{view.layer} H{view.head}"
    agreed = {head: of_head, "its rollout": of_rollout}
    st.markdown(" ".join(agreement(found.falls, one, name) for name, one in agreed.items()))
    try:
        draw_curves(
            found.covered, found.falls, {"largest attention first": of_head, "largest rollout first": of_rollout}
        )
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
    st.caption(
        "Occlusion after Zeiler and Fergus (2014); curves after the deletion metric of Petsiuk et al. (2018), who take "
        "the area below the probability. Gradient: times the change that covering makes. Limits: one image; a covered "
        "image is unlike those of the training; another cover gives other numbers."
    )
    return found
