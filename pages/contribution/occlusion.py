"""Occlusion of an image, a video or a sound: each part is covered, and the fall is compared with attention."""

import numpy as np
import pandas as pd
import streamlit as st

from encoder import Trace
from encoder.causal import occlusion
from encoder.figures.deletion import window_bars
from encoder.figures.numbers import three_digits
from encoder.measure import patches, sounds
from encoder.measure.attention_rollout import LONGEST_WHOLE
from pages.components import plot
from pages.core.view import View
from pages.core.widgets import Export, answer, over_image, place, title
from pages.core.widgets.occlusion import Occlusion, agreement, controls, draw_curves
from pages.core.words import about, errors_said, plain


def show(view: View) -> Export | None:
    """The fall for each part next to the attention, and the curves of deletion; None where nothing is measured."""
    covered = controls(view)
    falls = covered.alone()
    if falls is None:
        return None
    of_image = patches.is_of_patches(view.trace)
    token = over_image.token(view) if of_image else _token_of_sound(view)
    name = plain(view.trace.labels[token])
    orders = {"attention": _weights(view, covered, token, "attention")}
    if of_image or view.trace.n_tokens <= LONGEST_WHOLE:
        orders["rollout"] = _weights(view, covered, token, "rollout")
    agreed = agreement(falls, orders["attention"], f"attention of {name} in L{view.layer} H{view.head}")
    if of_image:
        table = _over_image(view, covered, falls)
        st.markdown(f"{agreed} {agreement(falls, orders['rollout'], 'its rollout')}")
        below = st.container()
    else:
        st.markdown(f"{_largest(covered, falls)} {agreed}")
        table, below = _over_time(covered, falls, orders["attention"], name)
    with below, errors_said(st.info, icon=":material/info:"):
        draw_curves(covered, falls, {f"largest {name} first": weights for name, weights in orders.items()})
    what = "an image" if of_image else "a sound"
    st.caption(about.text(__file__, f"Limits of the occlusion of {what}"))
    lines = covered.python_lines().lstrip()
    return Export(view, title(view, "Occlusion"), lambda: table, lines=lines, settings=place(view))


def _token_of_sound(view: View) -> int:
    return sounds.loudest(view.given, sounds.sound_layout(view.trace)) if view.i is None else view.i


def _weights(view: View, covered: Occlusion, token: int, measure: str) -> np.ndarray:
    """[P]: the attention of a token on each part, in the open head or by the rollout of all layers."""
    sound = covered.given if view.trace.kind == "sound" else None

    def make(trace: Trace) -> np.ndarray:
        if measure == "rollout":
            return occlusion.by_part(trace, patches.rollout_rows(trace, token)[-1], sound)
        row = trace.attention(view.layer, view.head, slice(token, token + 1))[0]
        return occlusion.by_part(trace, row, sound)

    place = () if measure == "rollout" else (view.layer, view.head)
    return view.derived((f"{measure} by part", *place, token), make)


def _over_image(view: View, covered: Occlusion, falls: np.ndarray) -> pd.DataFrame:
    """The falls next to the attention, both over the image. Returns the falls with the names of their patches."""
    with answer.area():
        left, right = st.columns(2, gap="medium")
        with left:
            over_image.answer_falls(view, covered, falls)
            over_image.draw_falls(view, covered, falls)
        with right:
            _, over = over_image.weights_of(view, "attention")
            over_image.draw_weights(view, over, f"L{view.layer} H{view.head}, attention", key="patch-attention")
    return pd.DataFrame({covered.part: patches.grid(view.trace).names_of_patches, "fall": falls})


def _largest(covered: Occlusion, falls: np.ndarray) -> str:
    """The window whose silence changes the outcome most."""
    best, edges = int(falls.argmax()), occlusion.windows(covered.given)
    return (
        f"Largest fall of the {plain(covered.measured)}: **{three_digits(float(falls[best]))}**, without "
        f"{edges[best]:.2f}-{edges[best + 1]:.2f} s."
    )


def _over_time(
    covered: Occlusion, falls: np.ndarray, attention: np.ndarray, name: str
) -> tuple[pd.DataFrame, st.delta_generator.DeltaGenerator]:
    """The falls as bars over time. Returns the falls with their seconds, and the place next to the bars."""
    edges = occlusion.windows(covered.given)
    left, right = st.columns(2, gap="medium")
    with left:
        plot(
            window_bars(edges, falls, attention, "fall", "attention"),
            key="sound-why",
            alt=f"The fall of the {covered.measured} where each of {len(falls)} windows is silent, and the attention "
            f"of {name} on it.",
            height=360,
        )
    return pd.DataFrame({"from_second": edges[:-1], "to_second": edges[1:], "fall": falls}), right
