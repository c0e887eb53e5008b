"""The diagram of the architecture: its contents, and the block that is open."""

import numpy as np
import streamlit as st

from encoder import explain
from encoder.explain.architecture import Architecture, ArchitectureBlock
from encoder.figures.architecture import Stack, architecture_diagram
from pages.architecture.params import Params
from pages.architecture.units import percent, short
from pages.components import PlotEvent, on_click, plot
from pages.core.frame import sidebar
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state

_DEFAULT = "attention"
#: The longest line in a block, in characters.
LONGEST_LINE = 34


def suffix(key: str) -> str:
    """ "layers.2.q" -> "q": the same block stays open in another layer."""
    parts = key.split(".", 2)
    return parts[2] if parts[0] == "layers" else key


def open_block(drawn: Architecture, layer: int, asked: str) -> ArchitectureBlock:
    """The block of this name in the layer, by default its softmax. A warning names a block that does not exist."""
    wanted = asked or _DEFAULT
    keys = {block.key for block in drawn.blocks}
    for key in (f"layers.{layer}.{wanted}", wanted):
        if key in keys:
            return drawn[key]
    st.warning(
        f"This encoder has no block {sidebar.plain(wanted[:40])}. Shown: the softmax of layer {layer}.",
        icon=":material/link_off:",
    )
    state.put(Params.block, "")
    return drawn[f"layers.{layer}.{_DEFAULT}"]


def show(view: View, drawn: Architecture, opened: ArchitectureBlock, token: int, says: str) -> None:
    """The diagram. A click opens a block, or another layer."""
    trace = view.trace
    counted = {} if says == "shape" else counts(drawn, view.layer, says)
    drawing = architecture_diagram(
        drawn.blocks,
        drawn.edges,
        layer=view.layer,
        n_layers=view.loaded.config.n_layers,
        strips=None if counted else strips(view, drawn, token),
        contents=count_texts(counted, says) or contents(trace.labels, trace.ids, token),
        shares={key: share for key, (_, share) in counted.items()},
        selected=opened.key,
    )

    def open_clicked(event: PlotEvent) -> None:
        if event["point"] < len(drawing.blocks):
            block = drawing.blocks[event["point"]]
            if isinstance(block, Stack):
                state.put(ViewParams.layer, block.layer)
            else:
                state.put(Params.block, suffix(block.key))

    titles = ", ".join(block.title for block in drawing.blocks)
    plot(
        drawing.figure,
        key="architecture",
        alt=f"The encoder as blocks from top to bottom, layer {view.layer} in full: {titles}.",
        height=drawing.height,
        on_event=on_click(point=open_clicked),
    )


def strips(view: View, drawn: Architecture, token: int) -> dict[str, np.ndarray]:
    """Key of a block -> its numbers for one token."""
    pooling = state.get(PlaceParams.pooling)
    return {
        block.key: explain.tensor(view.trace, block.opens, view.head, slice(token, token + 1), pooling).values[0]
        for block in drawn.drawn(view.layer)
        if block.opens is not None
    }


def counts(drawn: Architecture, layer: int, says: str) -> dict[str, tuple[int, float]]:
    """Key of a block -> its parameters, FLOPs or bytes, and their share of the encoder.

    "layer" is the sum of the layer drawn in full, "stack.before" and "stack.after" are the sums of the other layers.
    """
    numbers: dict[str, int] = {}
    for block in drawn.blocks:
        keys = [block.key]
        if block.layer is not None and block.layer != layer:
            keys = ["stack.before" if block.layer < layer else "stack.after"]
        elif block.layer == layer:
            keys.append("layer")
        for key in keys:
            numbers[key] = numbers.get(key, 0) + getattr(block, says)
    total = sum(getattr(block, says) for block in drawn.blocks) or 1
    return {key: (number, number / total) for key, number in numbers.items()}


def count_texts(counted: dict[str, tuple[int, float]], says: str) -> dict[str, str]:
    """Key -> "1.77 M (7.8 %)", a dash for 0."""
    unit = {"flops": "FLOP", "memory": "B"}.get(says, "")
    return {
        key: f"{short(number)}{unit}".strip() + f" ({percent(share)})" if number else "–"
        for key, (number, share) in counted.items()
    }


def contents(labels: tuple[str, ...], ids: tuple[int, ...], token: int) -> dict[str, str]:
    """The text of the first two blocks: tokens and ids around the selected token."""
    return {"tokens": _around(labels, token), "ids": _around([str(token_id) for token_id in ids], token)}


def _around(words: tuple[str, ...] | list[str], token: int) -> str:
    """As many words around a token as fit on a line: one more on each side in turn."""
    first = last = token
    grown = True
    while grown:
        grown = False
        for before, after in ((0, 1), (1, 0)):
            low, high = first - before, last + after
            if low >= 0 and high < len(words) and len(" ".join(words[low : high + 1])) <= LONGEST_LINE:
                first, last, grown = low, high, True
    text = " ".join(words[first : last + 1])
    if len(text) > LONGEST_LINE:
        text = text[: LONGEST_LINE - 1] + "…"
    left = "… " if first else ""
    right = " …" if last + 1 < len(words) else ""
    return left + text + right
