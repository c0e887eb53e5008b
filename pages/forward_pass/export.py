"""What the page “Forward pass, step by step” exports."""

import dataclasses
from collections import defaultdict
from collections.abc import Mapping

import plotly.graph_objects as go

from encoder import explain
from encoder.export import tables
from encoder.export.python_code import trace_call
from encoder.figures.steps import stacked_rows
from pages.core.stores import cache
from pages.core.view.selection import PlaceParams, selected_place
from pages.core.view.view import View, state
from pages.core.widgets.export import Export
from pages.forward_pass.ffn import selected_neuron
from pages.forward_pass.params import Params
from pages.forward_pass.scores import selected_variant

#: A function of `encoder.explain` and its arguments after the trace.
Call = tuple[str, tuple[object, ...]]

#: The shortest vectors that a report draws.
SHORTEST_ROW = 4


def export_step(view: View, params: Params) -> None:
    """The numbers of the open step at the selected place."""
    shared = state.read(PlaceParams)
    calls = step_calls(view, params)
    made = {f"{call[0]}_step": python(call) for call in calls}
    title = next(step.title for step in explain.STEPS if step.key == params.step)
    settings: dict[str, object] = {"Step": title, "Layer": view.layer, "Head": view.head}
    second = shared.second if params.step == "output" and shared.second.strip() else ""
    if second:
        made["other"] = trace_call("model", second)
        made["similarity_step"] = f"explain.similarity(trace, other, {shared.pooling!r})"
        settings["Second sentence"] = second

    def found() -> list[object]:
        values = [getattr(explain, name)(view.trace, *given) for name, given in calls]
        if second:
            values.append(explain.similarity(view.trace, cache.trace(view.model, second), shared.pooling))
        return values

    steps = ", ".join(name for name in made if name.endswith("_step"))
    lines = ["from encoder import explain", "from encoder.export import tables"]
    lines += [f"{name} = {call}" for name, call in made.items()]
    lines.append(f"table = tables.step_frame({steps})")
    Export(
        view,
        f"{title}, L{view.layer} H{view.head} of {view.loaded.name}",
        lambda: tables.step_frame(*found()),
        figures=lambda: drawn_vectors(found()),
        lines="\n".join(lines),
        settings=settings,
    ).draw()


def step_calls(view: View, params: Params) -> list[Call]:
    """The functions of a step, at the place and with the settings of the page."""
    config, shared = view.loaded.config, state.read(PlaceParams)
    in_head, in_model = selected_place(view, config.d_head), selected_place(view, config.d_model)
    variant = selected_variant(view, params)
    calls: dict[str, list[Call]] = {
        "ids": [("text_to_ids", (in_head.query,))],
        "embedding": [("embedding", (selected_place(view, config.embedding_width),))],
        "qkv": [("projection", (in_head, params.vector))],
        "scores": [("score", (in_head, variant))],
        "softmax": [("softmax", (selected_place(view), params.temperature, variant))],
        "mixing": [("weighted_sum", (in_head,)), ("output_projection", (in_model,))],
        "norm": [("add_norm", (in_model, params.part))],
        "output": [("journey", (in_model,)), ("pooled", (shared.pooling, in_model))],
    }
    return [("feed_forward", (selected_neuron(view),))] if params.step == "ffn" else calls[params.step]


def python(call: Call) -> str:
    """A call as Python."""
    name, given = call
    arguments = [f"explain.{value!r}" if dataclasses.is_dataclass(value) else repr(value) for value in given]
    return f"explain.{name}({', '.join(['trace', *arguments])})"


def drawn_vectors(found: list[object]) -> Mapping[str, go.Figure]:
    """The vectors of some steps as rows, one figure for each length."""
    by_length: dict[int, dict[str, object]] = defaultdict(dict)
    for step in found:
        if not hasattr(step, "tokens"):
            for name, array in tables.numbers_of(step):
                if array.ndim == 1 and len(array) >= SHORTEST_ROW:
                    by_length[len(array)][name] = array
    return {f"Vectors of {length} numbers": stacked_rows(rows) for length, rows in by_length.items()}
