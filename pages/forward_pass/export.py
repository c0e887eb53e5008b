"""What can be exported from the page “Forward pass, step by step”."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from encoder import explain
from encoder.export import tables
from encoder.export.python_code import trace_call
from encoder.figures.steps import stacked_rows
from pages.core import cache, selection
from pages.core.export import export_panel
from pages.core.view import View, state
from pages.forward_pass.scores import variant

if TYPE_CHECKING:
    pass


#: A function of `encoder.explain` and what it takes beside the trace.
Call = tuple[str, tuple[object, ...]]


#: Vectors that stand below each other in a report are at least so long.
SHORTEST_ROW = 4


def export_step(view: View, step: str) -> None:
    """The numbers of a step at the selected place."""
    calls = step_calls(view, step)
    made = {f"{name}_step": python((name, given)) for name, given in calls}
    title = next(one.title for one in explain.STEPS if one.key == step)
    kind, second = state.get("pooling"), state.get("second") if step == "output" else ""
    if second.strip():
        made |= {"other": trace_call("model", second), "similarity_step": f"explain.similarity(trace, other, {kind!r})"}

    def found() -> list[object]:
        values = [getattr(explain, name)(view.trace, *given) for name, given in calls]
        if second.strip():
            values.append(explain.similarity(view.trace, cache.trace(view.model, second), kind))
        return values

    export_panel(
        view,
        f"{title}, L{view.layer} H{view.head} of {view.loaded.name}",
        lambda: tables.step_frame(*found()),
        figures=lambda: drawn_vectors(found()),
        lines="\n".join(
            [
                "from encoder import explain",
                "from encoder.export import tables",
                *(f"{name} = {call}" for name, call in made.items()),
                f"table = tables.step_frame({', '.join(name for name in made if name.endswith('_step'))})",
            ]
        ),
        settings={"Step": title, "Layer": view.layer, "Head": view.head}
        | ({"Second sentence": second} if second.strip() else {}),
    )


def step_calls(view: View, step: str) -> list[Call]:
    """What a step computes, at the place and with the settings that its page shows."""
    config = view.loaded.config
    if step == "ids":
        return [("text_to_ids", (selection.selection(view).query,))]
    if step in ("scores", "softmax"):
        asked = variant(view)
        if step == "scores":
            return [("score", (selection.selection(view, config.d_head), asked))]
        return [("softmax", (selection.selection(view), state.get("temperature"), asked))]
    width = {"embedding": config.embedding_width, "qkv": config.d_head, "mixing": config.d_head}
    place = selection.selection(view, width.get(step, config.d_model))
    if step == "mixing":
        return [("weighted_sum", (place,)), ("output_projection", (selection.selection(view, config.d_model),))]
    if step == "ffn" and state.get("neuron") is None:  # as on the page: none chosen is the token's strongest
        place = dataclasses.replace(place, neuron=int(explain.feed_forward(view.trace, place).strongest(1)[0]))
    return {
        "embedding": [("embedding", (place,))],
        "qkv": [("projection", (place, state.get("vector")))],
        "norm": [("add_norm", (place, state.get("part")))],
        "ffn": [("feed_forward", (place,))],
        "output": [("journey", (place,)), ("pooled", (state.get("pooling"), place))],
    }[step]


def python(call: Call) -> str:
    """A call as Python."""
    name, given = call
    said = [f"explain.{one!r}" if dataclasses.is_dataclass(one) else repr(one) for one in given]
    return f"explain.{name}({', '.join(['trace', *said])})"


def drawn_vectors(found: list[object]) -> Mapping[str, go.Figure]:
    """The vectors of some steps' values as rows below each other, those of one length together."""
    by_length: dict[int, dict[str, object]] = defaultdict(dict)
    for one in found:
        if not hasattr(one, "tokens"):
            for name, array in tables.numbers_of(one):
                if array.ndim == 1 and len(array) >= SHORTEST_ROW:
                    by_length[len(array)][name] = array
    return {f"Vectors of {length} numbers": stacked_rows(rows) for length, rows in by_length.items()}
