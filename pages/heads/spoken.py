"""Heads, cross-attention to a sound: the words that the decoder writes, and to which times each one attends."""

import numpy as np
import pandas as pd
import streamlit as st

from encoder.inputs.sound_files import wav_bytes
from encoder.inputs.sound_layout import Span
from encoder.measure import sounds
from encoder.trace.decoder import DecoderTrace
from pages.core.view import View
from pages.core.view.output import Output, target_text
from pages.core.widgets import Export, answer, title
from pages.core.words import about, plain
from pages.heads import sound
from pages.state import state


def draw(view: View, target: DecoderTrace) -> Export:
    """The words with their times; the spectrogram with the weights of the selected one; a row for each head."""
    name, place = f"L{view.layer} H{view.head}", (view.layer, view.head)
    with st.container(key="controls-spoken", horizontal=True, vertical_alignment="center"):
        over = state.segmented(
            Output.over, "Weights of", {"mean": "Mean of all heads", "head": name}, label_visibility="collapsed"
        )
        with st.container(width=320):
            st.audio(wav_bytes(view.given), format="audio/wav")
    words = sounds.written_words(target, sounds.sound_layout(view.trace), place if over == "head" else None)
    names = {one.places[0]: f"{plain(one.text)} · {sounds.names([one.most])[0]}" for one in words}
    at = state.newest(Output.step)
    if at is not None and at not in names:  # a token inside a word, or of a longer output
        state.put(Output.step, next((one.places[0] for one in words if at in one.places), None))
    area = answer.area()  # above the words, which may be many
    chosen = state.bound(
        st.pills, Output.step, "Output: select a word. The time after it has its largest weights.", list(names),
        format_func=names.__getitem__,
    )  # fmt: skip
    word = next((one for one in words if chosen in one.places), words[0])
    found = sound.Heard(
        sound=view.given, wav=b"", layout=sounds.sound_layout(view.trace), query=0, name=word.text,
        span=Span(word.most.start, word.most.end), chosen=chosen is not None, over=word.over,
    )  # fmt: skip
    weights = sounds.written_by_head(target, word.places)
    with area:
        largest = sounds.pieces(word.over)
        named = ", ".join(
            f"{time} **{one.share:.3f}**" for time, one in zip(sounds.names(largest), largest, strict=True)
        )
        whose = f"{name} attends" if over == "head" else "all heads together attend"
        answer.draw(
            f"To write :blue[**{plain(word.text)}**], {whose} most to {named}.",
            "These are attention weights. They suggest where a word is, and do not measure it.",
        )
        sound.draw_sound(view, found, hears=False)
    sound.draw_pieces(found)
    sound.draw_heads(view, found, weights, place)
    st.caption(about.text(__file__, "Limits of times from cross-attention"))
    return _export(view, words, word, weights, found)


def _export(view: View, words: list[sounds.Word], word: sounds.Word, weights: np.ndarray, found: sound.Heard) -> Export:
    """The words with their times; the picture of all heads for the selected word."""

    def frame() -> pd.DataFrame:
        rows = [(one.text, one.places[0], one.most.start, one.most.end, one.most.share) for one in words]
        return pd.DataFrame(rows, columns=["word", "output_token", "start", "end", "share"])

    return Export(
        view,
        title(view, "Cross-attention over time"),
        frame,
        figures=lambda: {f"What {word.text} attends to": sound.map_of_heads(view, found, weights)},
        lines="from encoder.measure import sounds\n"
        f"trace = model.decode(trace, {target_text(view)!r})\n"
        "weights = sounds.written_over_time(trace.decoder)  # [tokens of the output, steps of time]",
    )
