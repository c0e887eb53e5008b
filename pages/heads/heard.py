"""What the page shows of one sound in one head: the query, its attention over time, the samples."""

from __future__ import annotations

from dataclasses import dataclass

from encoder.inputs.sound import Sound
from encoder.inputs.sound_files import wav_bytes
from encoder.inputs.sound_layout import SoundLayout, Span
from encoder.measure import sounds
from encoder.measure.sounds import OverTime
from pages.core.view import selection
from pages.core.view.view import View, ViewParams
from pages.state.url_state import state


@dataclass(frozen=True)
class Heard:
    """query: the token; span: its part of the sound, None for a special token; chosen: whether the visitor chose it."""

    sound: Sound
    wav: bytes
    layout: SoundLayout
    query: int
    name: str
    span: Span | None
    chosen: bool
    over: OverTime

    @staticmethod
    def clear() -> None:
        """Go back to the default query."""
        selection.clear()

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
