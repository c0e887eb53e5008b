"""`lines`: tokens on two sides and a line for every weight."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import assets, events, wire
from .events import LinesEvent
from .palette import HEAD_COLOURS

_render = assets.component("lines")

MAX_TOKENS = 512
#: Pixels of legend and titles. Below them, lines.js has as many pixels a token as `lines` reserves.
TOP = 46


def lines(
    weights: np.ndarray,
    *,
    tokens: Sequence[str],
    labels: Sequence[str],
    key: str,
    alt: str,
    key_tokens: Sequence[str] | None = None,
    names: tuple[Sequence[str], Sequence[str]] | None = None,
    selected_queries: Sequence[int] = (),
    selected_keys: Sequence[int] = (),
    always_selected: bool = False,
    threshold: float = 0.0,
    on_event: Callable[[LinesEvent], None] | None = None,
) -> None:
    """Draws attention as lines from queries (left) to keys (right).

    Hovering shows one token, a click selects it, a click with Shift selects several. Each token of the other side
    gets a square per head, as strong as its weight, and one number: its weights with the selected tokens, summed and
    averaged over the heads.

    Args:
        weights: [N, T, T] of N overlaid heads; rows attend to columns, values 0 to 1: float32, or uint8 or uint16 for
            0 to 255 or 65535. [N, T, C] if the keys differ from the queries.
        tokens: T labels. The screen cuts long ones.
        labels: N names of heads, for the legend; their colours are the first N of `HEAD_COLOURS`.
        key: the widget's key, and the name of a downloaded picture.
        alt: a sentence for screen readers.
        key_tokens: C labels of the keys, if they differ from the queries.
        names: names of queries and keys in hover text, if they differ from the labels: "the (4)".
        selected_queries, selected_keys: positions of the selected tokens.
        always_selected: one query stays selected, and one key at most is selected beside it.
        threshold: smaller weights are not drawn; the numbers include them.
        on_event: called with the event before the page runs, so it may change other widgets' state.

    Raises:
        ValueError: shapes do not fit, or there are more than 12 heads or 512 tokens.
    """
    n_keys = len(tokens if key_tokens is None else key_tokens)
    fit = [len(labels), len(tokens), n_keys]
    if list(weights.shape) != fit:
        raise ValueError(f"weights must be [heads, T, T] = {fit}, not {list(weights.shape)}.")
    if not 0 < len(labels) <= len(HEAD_COLOURS):
        raise ValueError(f"{len(labels)} heads; lines show 1 to {len(HEAD_COLOURS)} heads.")
    if max(len(tokens), n_keys) > MAX_TOKENS:
        raise ValueError(f"{max(len(tokens), n_keys)} tokens; lines show at most {MAX_TOKENS}. Pass a window of them.")
    if weights.dtype not in (np.uint8, np.uint16):
        weights = weights.astype(np.float32)
    header = {
        "tokens": [str(token) for token in tokens],
        "keyTokens": None if key_tokens is None else [str(token) for token in key_tokens],
        "names": [
            {} if names is None else _others(side, names[k])
            for k, side in enumerate((tokens, tokens if key_tokens is None else key_tokens))
        ],
        "labels": [str(label) for label in labels],
        "colours": HEAD_COLOURS[: len(labels)],
        "dtype": weights.dtype.name,
        "queries": [int(i) for i in selected_queries],
        "keys": [int(j) for j in selected_keys],
        "alwaysSelected": always_selected,
        "threshold": float(threshold),
        "name": key,
        "alt": alt,
    }
    counts = len(tokens), n_keys
    _render(
        key=key,
        data=wire.pack(header, {"weights": weights}),
        height=TOP + max(counts) * (15 if max(counts) > 256 else 18 if max(counts) > 48 else 21),
        on_select_change=lambda: events.tell(key, "select", lambda value: events.lines_event(value, counts), on_event),
    )


def _others(labels: Sequence[str], names: Sequence[str]) -> dict[int, str]:
    """Position -> name, where the name is not the label."""
    pairs = enumerate(zip(labels, names, strict=True))
    return {place: str(name) for place, (label, name) in pairs if label != name}
