"""`curves`: runs that train, with their loss, their accuracy and a head's attention map, drawn while they train."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from encoder.drawing import wire
from pages.state import url_state

from . import assets
from .headers import CurvesHeader, CurvesRefresh, RunHeader, SampleHeader

_render = assets.component("curves")


@dataclass(frozen=True)
class CurveRun:
    """How one run is drawn, and how far it is."""

    name: str
    #: CSS.
    colour: str
    #: Of its lines, as Plotly names it.
    dash: str
    #: In words, such as "training, step 3 of 400".
    status: str
    #: 0 to 1.
    progress: float
    #: Of the whole run.
    steps: int
    active: bool
    #: Tokens before its sequence.
    registers: int = 0


@dataclass(frozen=True)
class SampleSequence:
    """The sequence whose attention is shown. tokens, expected: T symbols and their T right answers; classes: C symbols;
    source: T positions of the tokens with the answers, empty where no single token has one; labels: T tick labels.
    """

    tokens: Sequence[str]
    expected: Sequence[str]
    classes: Sequence[str]
    source: Sequence[int]
    labels: Sequence[str]


def refresh(runs: Sequence[CurveRun], arrays: Sequence[Mapping[str, np.ndarray]], seen: Sequence[Any]) -> bytes:
    """What the runs have come to since the reader's numbers: the answer of the component's channel.

    arrays: for each run those of `encoder.train.progress.since`; seen: for each run how many losses, points and maps
    the reader had.
    """
    header: CurvesRefresh = {"runs": [_sent(run) for run in runs], "seen": seen}
    return wire.pack(header, _named(arrays))


def curves(
    runs: Sequence[CurveRun],
    arrays: Sequence[Mapping[str, np.ndarray]],
    *,
    sample: SampleSequence,
    head: str,
    place: tuple[int, int],
    colorscale: np.ndarray,
    key: str,
    alt: str,
    channel: str = "",
    query: str = "",
) -> None:
    """Draws loss and accuracy over the steps, and attention maps that a slider takes through the steps.

    While a run is active the browser asks the channel for new numbers five times a second; when the last one has ended,
    the page runs once more.

    Args:
        runs: 1 to 4 runs.
        arrays: for each run all its numbers, as `encoder.train.progress.since` gives them.
        sample: the sequence whose attention is shown.
        head: title of the maps, such as "L0 H0".
        place: layer and head of the maps; the table has all heads of this layer.
        colorscale: 256 colours [red, green, blue], 0 to 255.
        key: the widget's key, and the name of a downloaded picture.
        alt: a sentence for screen readers.
        channel: address of new numbers below the app's root; query: its parameters without those of the reader.
    """
    header: CurvesHeader = {
        "runs": [_sent(run) for run in runs],
        "sample": cast(SampleHeader, vars(sample)),
        "head": head,
        "place": place,
        "channel": channel,
        "query": query,
        "name": key,
        "alt": alt,
    }
    _render(
        key=key,
        data=wire.pack(header, _named(arrays) | {"colours": np.asarray(colorscale, dtype=np.uint8)}),
        on_refresh_change=url_state.touch,
    )


def _named(arrays: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {f"{number}.{name}": array for number, own in enumerate(arrays) for name, array in own.items()}


def _sent(run: CurveRun) -> RunHeader:
    return cast(RunHeader, vars(run))
