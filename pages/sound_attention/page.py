"""Sound attention: waveform, spectrogram and what a part of the sound attends to; the pieces can be played."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder.figures.sound import time_map
from encoder.measure import sounds
from pages.core.frame.frame import current_view, heading
from pages.core.view.view import View
from pages.core.widgets import answer
from pages.core.widgets.export import Export, title
from pages.core.words.glossary import opening
from pages.sound_attention import heads, picture, why
from pages.sound_attention.heard import Heard, heard_of
from pages.state.links import next_page


def main(view: View) -> None:
    heading()
    opening(
        f"You see a sound, and what one part of it attends to in **L{view.layer} H{view.head}**.  \n"
        "Look for heads that attend to the same time, to the time before, or to the loudest part.  \n"
        "To the encoder, pieces of sound are tokens as words are."
    )
    found = heard_of(view)
    say_class(view, found)
    with answer.area():
        draw_answer(found)
        picture.draw_sound(view, found)
        picture.draw_pieces(found)
    if found.over.bands is None:
        heads.draw(view, found)
    else:
        for column, part in zip(st.columns(2, gap="medium"), (picture.draw_bands, heads.draw), strict=True):
            with column:
                part(view, found)
    lines = why.draw(view, found)
    st.caption(
        "Limits: attention shows where a head reads, not what the model concludes from it. "
        + ("The patches of one time are summed in the curve." if found.over.bands is not None else
           "Each step also reads a little of the sound after it.")
    )  # fmt: skip
    exported(view, found, lines).draw()
    next_page("heads", "Attention heads, all heads of this sound as maps")


def say_class(view: View, found: Heard) -> None:
    """The player, and the classes with their probabilities."""
    model = view.loaded
    with st.container(horizontal=True, vertical_alignment="center", key="sound-heard"):
        with st.container(width=320):
            st.audio(found.wav, format="audio/wav")
        if model.classifier is None:
            st.markdown("This checkpoint has no classification head.", width="content")
            return
        ranked = sorted(model.probabilities(view.trace).items(), key=lambda pair: -pair[1])
        others = ", ".join(f"{label} {share:.3f}" for label, share in ranked[1:4])
        first, share = ranked[0]
        st.markdown(f"Class: **{first}**, probability **{share:.3f}**. Next: {others}.", width="content")


def draw_answer(found: Heard) -> None:
    """The line above the picture: what the selected part attends to."""
    largest = sounds.pieces(found.over)
    named = ", ".join(
        f"{name} **{piece.share:.3f}**" for name, piece in zip(sounds.names(largest), largest, strict=True)
    )
    special = "" if found.over.bands is None else f" Special tokens: {found.over.special:.3f}."
    answer.draw(
        f":blue[**{found.name}**] attends most to {named}.{special}",
        "Click a time in the picture to choose another part." + ("" if found.chosen else " This part is the default."),
        clear=found.clear if found.chosen else None,
    )


def exported(view: View, found: Heard, lines: str) -> Export:
    """The weights of the query in all heads. lines: further lines of Python."""

    def frame() -> pd.DataFrame:
        values = sounds.all_heads_over_time(view.trace, found.query)
        layers, heads, columns = np.indices(values.shape)
        return pd.DataFrame(
            {"layer": layers.ravel(), "head": heads.ravel(), "second": found.over.starts[columns.ravel()],
             "weight": values.ravel()}
        )  # fmt: skip

    def figures() -> dict[str, go.Figure]:
        values = sounds.all_heads_over_time(view.trace, found.query)
        names = [f"L{layer} H{head}" for layer in range(values.shape[0]) for head in range(values.shape[1])]
        rows = values.reshape(len(names), -1)
        drawn = time_map(rows, found.over.starts, names, title="head", downwards=True)
        return {f"What {found.name} attends to over time": drawn}

    return Export(
        view,
        title(view, "Sound attention"),
        frame,
        figures=figures,
        lines="from encoder.measure import sounds\n"
        f"weights = sounds.all_heads_over_time(trace, {found.query})  # [layers, heads, columns of time]"
        f"{lines}",
        settings={"Query": found.name},
    )


main(current_view())
