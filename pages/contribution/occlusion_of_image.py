"""Occlusion of an image: each patch is covered, and the fall is compared with attention."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from encoder.causal import occlusion
from encoder.errors import EncoderError
from encoder.measure import patches
from encoder.trace.trace import Trace
from pages.core.view.view import View
from pages.core.widgets import answer, over_image
from pages.core.widgets.export import Export, title
from pages.core.widgets.export import place as place_of
from pages.core.widgets.occlusion import agreement, controls, draw_curves
from pages.core.words import references
from pages.core.words.markdown import plain, say_error


def show(view: View) -> Export | None:
    """The fall for each patch next to the attention, and the curves of deletion; None where nothing is measured."""
    try:
        covered = controls(view)
        falls = covered.alone()
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
        return None
    if falls is None:
        return None
    with answer.area():
        left, right = st.columns(2, gap="medium")
        with left:
            over_image.draw_falls(view, covered, falls)
        with right:
            _, over = over_image.weights_of(view, "attention")
            over_image.draw_weights(view, over, f"L{view.layer} H{view.head}, attention", key="patch-attention")
    place = over_image.token(view)
    names = view.trace.labels[len(patches.grid(view.trace).before) :]
    name = plain(view.trace.labels[place])

    def weights(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
        row = trace.attention(view.layer, view.head, slice(place, place + 1))[0]
        rows = patches.rollout_rows(trace, place)
        return occlusion.by_part(trace, row, None), occlusion.by_part(trace, rows[-1], None)

    of_head, of_rollout = view.derived(("weights by part", view.layer, view.head, place), weights)
    head = f"attention of {name} in L{view.layer} H{view.head}"
    agreed = {head: of_head, "its rollout": of_rollout}
    st.markdown(" ".join(agreement(falls, one, name) for name, one in agreed.items()))
    try:
        draw_curves(covered, falls, {"largest attention first": of_head, "largest rollout first": of_rollout})
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
    references.caption(
        "Occlusion after Zeiler and Fergus (2014), who used a grey square; curves after "
        "the deletion metric of Petsiuk et al. (2018), who use "
        "the area below the probability. Gradient: times the change that covering makes. Limits: one image; a covered "
        "image is unlike those of the training; another cover gives other numbers."
    )
    return Export(
        view, title(view, "Occlusion"), lambda: pd.DataFrame({"patch": names, "fall": falls}),
        lines=covered.python_lines().lstrip(), settings=place_of(view),
    )  # fmt: skip
