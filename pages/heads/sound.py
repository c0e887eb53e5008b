"""The view of a sound: waveform, spectrogram and what a part of it attends to; the pieces can be played."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import Sound
from encoder.documents.tables import cells_of
from encoder.figures.numbers import in_words
from encoder.figures.sound import sound_picture, time_map
from encoder.inputs.sound_files import wav_bytes
from encoder.inputs.sound_layout import SoundLayout, Span, SpectrogramGrid
from encoder.measure import sounds
from pages.components import PlotEvent, on_click, plot
from pages.core.view import View, ViewParams, selection
from pages.core.widgets import Export, answer, class_head, title
from pages.core.words import gestures
from pages.state import Head, state

#: The bars in the figure of `sound_picture`.
BARS = 2


@dataclass(frozen=True)
class Heard:
    """A sound, and what one of its tokens attends to."""

    sound: Sound
    wav: bytes
    layout: SoundLayout
    #: The token.
    query: int
    #: Its label.
    name: str
    #: Its part of the sound; None for a special token.
    span: Span | None
    #: Whether the visitor chose it.
    chosen: bool
    over: sounds.OverTime

    def choose(self, column: int, band: int = 0) -> None:
        """Make the part at a column of time, and a band of patches, the query."""
        state.put(ViewParams.i, sounds.token_at(self.layout, column, band))


def heard_of(view: View) -> Heard:
    """The sound of the view, and what its query attends to in the open head."""
    sound = view.given
    trace = view.trace
    layout = sounds.sound_layout(trace)
    query = sounds.loudest(sound, layout) if view.i is None else view.i
    row = trace.attention(view.layer, view.head, slice(query, query + 1))[0].cpu()
    return Heard(
        sound=sound,
        wav=wav_bytes(sound),
        layout=layout,
        query=query,
        name=trace.labels[query],
        span=layout.spans[query],
        chosen=view.i is not None,
        over=sounds.over_time(row, layout),
    )


def draw(view: View) -> Export:
    """The class and the picture, the sound and its pieces to play, and one row for each head."""
    found = heard_of(view)
    with answer.area():
        draw_answer(view, found)
        draw_sound(view, found)
        draw_pieces(found, whole=True)
    if found.over.bands is not None:
        draw_bands(view, found)
    draw_heads(view, found, _over_time(view, found), (view.layer, view.head))
    st.caption(
        "The patches of one time are summed in the curve."
        if found.over.bands is not None
        else "Each step also receives a little of the sound after it."
    )
    return _exported(view, found)


def draw_answer(view: View, found: Heard) -> None:
    """The line above the picture: the class, and what the selected part attends to."""
    largest = sounds.pieces(found.over)
    named = ", ".join(
        f"{name} **{in_words(piece.share)}**" for name, piece in zip(sounds.names(largest), largest, strict=True)
    )
    special = "" if found.over.bands is None else f"Special tokens: {in_words(found.over.special)}. "
    answer.draw(
        f"{class_head.best(view)}:blue[**{found.name}**] attends most to {named}.",
        special + gestures.invitation("Select a time to choose another part."),
        clear=selection.clear if found.chosen else None,
    )


def draw_sound(view: View, found: Heard, *, hears: bool = True) -> None:
    """Waveform, spectrogram and attention. hears: whether a click chooses a time."""
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
        on_event=on_click(cell=at_cell, point=at_point, clear=selection.clear) if hears else None,
    )
    if not spectrogram.is_read:
        st.caption("The model processes the samples; the spectrogram is only an illustration.")


def draw_pieces(found: Heard, *, whole: bool = False) -> None:
    """The parts that get most attention, each with a player. whole: the whole sound, too."""
    largest = [piece for piece in sounds.pieces(found.over) if piece.start < found.sound.seconds]
    with st.container(horizontal=True, vertical_alignment="center", key="sound-pieces"):
        if whole:
            with st.container(width=240):
                st.markdown("Play the sound")
                st.audio(found.wav, format="audio/wav")
        for piece, name in zip(largest, sounds.names(largest), strict=True):
            with st.container(width=240):
                st.markdown(f"Play {name}: **{in_words(piece.share)}**")
                st.audio(wav_bytes(found.sound.part(*piece.audible())), format="audio/wav")
    if not largest:
        st.caption("Tokens attend mainly to the silence after the sound, which has nothing to play.")


def draw_bands(view: View, found: Heard) -> None:
    """The weight of each patch; a click makes it the query."""
    bands, grid = found.over.bands, found.layout
    assert bands is not None
    assert isinstance(grid, SpectrogramGrid)
    selected = (
        (None, None)
        if found.span is None
        else ((found.query - len(grid.before)) // bands.shape[1], (found.query - len(grid.before)) % bands.shape[1])
    )
    plot(
        time_map(
            bands,
            found.over.starts,
            [f"b{band}" for band in range(len(bands))],
            title="band",
            colours=view.colours,
            selected=selected,
        ),
        key="sound-bands",
        alt=f"The weight with which {found.name} attends to each patch of the spectrogram.",
        height=260,
        on_event=on_click(cell=lambda band, column: found.choose(column, band), clear=selection.clear),
    )
    how = gestures.invitation(f"{gestures.CLICK} a patch to make it the query.")
    gestures.caption(f"Each cell is a patch, low frequencies below. {how}")


def draw_heads(view: View, found: Heard, weights: np.ndarray, place: Head) -> None:
    """The map of all heads; a click opens a head. weights [L, H, columns of time]; place: the open head."""
    n_heads = weights.shape[1]
    plot(
        map_of_heads(view, found, weights, (place[0] * n_heads + place[1], None)),
        key="sound-heads",
        alt=f"What {found.name} attends to over time, one row for each of {weights.shape[0] * n_heads} heads.",
        height=min(520, 90 + 18 * weights.shape[0] * n_heads),
        on_event=on_click(row=lambda row: selection.open_head(*divmod(row, n_heads))),
    )
    how = gestures.invitation(f"{gestures.CLICK} a row to open it.")
    gestures.caption(f"Each row is a head: the weights with which {found.name} attends to each time. {how}")


def _over_time(view: View, found: Heard) -> np.ndarray:
    """[L, H, columns of time]: the weights of the query in all heads."""
    return view.derived(("all-heads", found.query), lambda trace: sounds.all_heads_over_time(trace, found.query))


def map_of_heads(
    view: View, found: Heard, weights: np.ndarray, selected: tuple[int | None, int | None] = (None, None)
) -> go.Figure:
    """The weights over time as a map with a row for each head."""
    names = [f"L{layer} H{head}" for layer in range(weights.shape[0]) for head in range(weights.shape[1])]
    return time_map(
        weights.reshape(len(names), -1),
        found.over.starts,
        names,
        title="head",
        colours=view.colours,
        selected=selected,
        hover="%{y}, from %{x}: %{z:.3f}",
        downwards=True,
    )


def _exported(view: View, found: Heard) -> Export:
    """The weights of the query in all heads."""
    times = {"second": found.over.starts}
    return Export(
        view,
        title(view, f"Attention of {found.name}"),
        lambda: cells_of("layer", "head", times, numbers={"weight": _over_time(view, found)}),
        figures=lambda: {f"What {found.name} attends to over time": map_of_heads(view, found, _over_time(view, found))},
        lines="from encoder.measure import sounds\n"
        f"weights = sounds.all_heads_over_time(trace, {found.query})  # [layers, heads, columns of time]",
        settings={"Query": found.name},
    )
