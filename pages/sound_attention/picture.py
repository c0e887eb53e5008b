"""The picture of the sound with the attention over time, the pieces to play, and the map of patches."""

from __future__ import annotations

import streamlit as st

from encoder.figures.sound import sound_picture, time_map
from encoder.inputs.sound_files import wav_bytes
from encoder.inputs.sound_layout import SpectrogramGrid
from encoder.measure import sounds
from pages.components import PlotEvent, on_click, plot
from pages.core.view.view import View
from pages.sound_attention.heard import Heard

#: The bars in the figure of `sound_picture`.
BARS = 2


def draw_sound(view: View, found: Heard) -> None:
    """Waveform, spectrogram and attention; a click chooses a time."""
    model, over = view.loaded, found.over
    spectrogram = view.derived("spectrogram", lambda trace: sounds.spectrogram(model, found.sound))
    seconds = len(over.columns) * over.step
    grid = found.layout if isinstance(found.layout, SpectrogramGrid) else None
    last = len(over.columns) - 1

    def at_cell(band: int, column: int) -> None:
        row = 0 if grid is None else min(band // grid.patches.mel_stride, grid.patches.n_bands - 1)
        found.choose(min(max(column, 0), last), row)

    def at_point(event: PlotEvent) -> None:
        if event["trace"] == BARS:
            found.choose(min(event["point"], last))

    figure = sound_picture(
        sounds.waveform(found.sound, seconds),
        spectrogram.values,
        spectrogram.frame,
        over.columns,
        over.step,
        seconds=seconds,
        sounds_until=spectrogram.n_real * spectrogram.frame,
        selected=None if found.span is None else (found.span.start, found.span.end),
    )
    plot(
        figure,
        key="sound-picture",
        alt=f"Waveform and spectrogram of the sound, and the weights with which {found.name} attends to each time.",
        height=300,
        on_event=on_click(cell=at_cell, point=at_point, clear=found.clear),
    )
    if not spectrogram.is_read:
        st.caption("The model reads the samples. The spectrogram is drawn for you.")


def draw_pieces(found: Heard) -> None:
    """The parts that get most attention, each with a player."""
    largest = [piece for piece in sounds.pieces(found.over) if piece.start < found.sound.seconds]
    if not largest:
        st.caption("Most attention goes to the silence after the sound: nothing to play.")
        return
    with st.container(horizontal=True, vertical_alignment="center", key="sound-pieces"):
        for piece, name in zip(largest, sounds.names(largest), strict=True):
            with st.container(width=240):
                st.markdown(f"Play {name}: **{piece.share:.3f}**")
                st.audio(wav_bytes(found.sound.part(*piece.audible())), format="audio/wav")


def draw_bands(view: View, found: Heard) -> None:
    """The weight of each patch; a click makes it the query."""
    st.header("Patches", anchor=False)
    bands, grid = found.over.bands, found.layout
    assert bands is not None
    assert isinstance(grid, SpectrogramGrid)
    selected = (None, None) if found.span is None else ((found.query - len(grid.before)) // bands.shape[1],
                                                        (found.query - len(grid.before)) % bands.shape[1])  # fmt: skip
    plot(
        time_map(
            bands, found.over.starts, [f"b{band}" for band in range(len(bands))], title="band", colours=view.colours,
            selected=selected,
        ),
        key="sound-bands",
        alt=f"The weight with which {found.name} attends to each patch of the spectrogram.",
        height=260,
        on_event=on_click(cell=lambda band, column: found.choose(column, band), clear=found.clear),
    )  # fmt: skip
    st.caption("Each cell is a patch, low frequencies below. Click a patch to make it the query.")
