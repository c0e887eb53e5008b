"""The view of an image or of a video's frames: what the selected patch attends to, laid over it; the same for all
heads in the grid."""

import numpy as np
import streamlit as st

from encoder import Trace
from encoder.documents import tables
from encoder.figures.numbers import three_digits
from encoder.maps import aggregate
from encoder.measure import patches
from pages.core.inputs.input_words import words_of
from pages.core.view import View, selection
from pages.core.widgets import Export, answer, class_head, over_image, place, title
from pages.core.widgets.occlusion import controls
from pages.core.words import errors_said, gestures, token_names
from pages.heads.params import OVERLAYS, Params
from pages.state import state

VERBS = {
    "attention": "attends most to",
    "weighted": "has most norm-weighted attention on",
    "rollout": "depends most (by rollout) on",
}


def draw(view: View) -> Export:
    """The class, the choice of what lies over the image, and the image."""
    if view.loaded.classifier is not None:
        st.markdown(class_head.said(view))
    picture = st.container()  # its control is below it
    overlay = state.segmented(Params.over_image, "Over the image", OVERLAYS, label_visibility="collapsed")
    with picture:
        lines = _draw_falls(view) if overlay == "occlusion" else _draw_weights(view, overlay)
    at = over_image.token(view)
    return Export(
        view,
        title(view, f"Attention of {view.trace.labels[at]}"),
        lambda: tables.patches_frame(view.trace, at),
        lines=f"from encoder.measure import patches\nrows = patches.rows_of_token(trace, {at})  # [L, H, T]{lines}",
        settings=place(view),
    )


def _draw_weights(view: View, overlay: str) -> str:
    row, over = over_image.weights_of(view, overlay)
    labels, grid, token = view.trace.labels, patches.grid(view.trace), over_image.token(view)
    part = words_of(view.trace).part
    hint = gestures.invitation(f"Select a {part} to read its row.") if view.i is None else ""
    if any(grid.special):
        beside = token_names.some(grid.before) if grid.before else "all tokens around the page"
        hint = f"On {beside}, without a {part}: {three_digits(float(row.sum() - over.sum()))}. {hint}"
    with answer.area():
        answer.draw(
            f"{token_names.bold(labels, token)} {VERBS[overlay]} {answer.largest(row, labels)}.",
            hint,
            clear=None if view.i is None else selection.clear,
        )
        over_image.draw_weights(view, over, OVERLAYS[overlay], opacity=state.newest(Params.opacity))
    return ""


def _draw_falls(view: View) -> str:
    """The fall for each patch; Python lines that give it, "" where there is none."""
    above = st.container()  # the controls follow the image, which stays in the window
    with errors_said(st.info, icon=":material/info:"):
        covered = controls(view)
        falls = covered.alone()
        if falls is not None:
            with above, answer.area():
                over_image.answer_falls(view, covered, falls)
                over_image.draw_falls(view, covered, falls, opacity=state.newest(Params.opacity))
            return covered.python_lines()
    return ""


def small_maps(view: View) -> np.ndarray:
    """uint8 [L, H, s, s]: what the token attends to in every head, over the patches, in the middle of a square."""
    token = over_image.token(view)

    def make(trace: Trace) -> np.ndarray:
        over = patches.over_image(trace, patches.rows_of_token(trace, token))
        found = aggregate.to_uint8(over / over.amax(dim=(-1, -2), keepdim=True).clamp_min(1e-9))
        missing = [max(found.shape[2:]) - length for length in found.shape[2:]]
        return np.pad(found, ((0, 0), (0, 0), *((one // 2, one - one // 2) for one in missing)))

    return view.derived(("patch maps", token), make)


def distances(view: View) -> np.ndarray:
    """[L, H]: the mean attention distance of every head in pixels."""
    return view.derived("patch distances", lambda trace: patches.attention_distances(trace).cpu().numpy())
