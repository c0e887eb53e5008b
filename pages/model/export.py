"""What the page Model exports: the open part's numbers, or the residual stream of the selected token."""

import dataclasses

from encoder import explain
from encoder.explain.output import chosen_pooling
from encoder.export import tables
from pages.core.view.place import selected_place
from pages.core.view.view import View
from pages.core.widgets.export import Export
from pages.model.params import Params, opened
from pages.model.picture import selected_variant

#: A function of `encoder.explain` and its arguments after the trace.
Call = tuple[str, tuple[object, ...]]


def export(view: View, params: Params) -> None:
    """A table, and the Python lines that make it again."""
    if params.step in ("", "class"):
        _stream(view)
    else:
        _part(view, params)


def _stream(view: View) -> None:
    token = view.i or 0
    Export(
        view,
        f"Residual stream of {view.trace.labels[token]} in {view.loaded.name}",
        lambda: tables.flow_frame(explain.token_flow(view.trace, token)),
        settings={"Token": token},
        lines="from encoder import explain, export\nfrom encoder.export import tables\n"
        f"flow = explain.token_flow(trace, {token})\ntable = tables.flow_frame(flow)\n"
        f"picture = export.model(trace, {view.layer}, {view.head}, {view.i}, {view.j})",
    ).draw()


def _part(view: View, params: Params) -> None:
    calls = part_calls(view, params)
    made = {f"{call[0]}_step": python(call) for call in calls}
    lines = ["from encoder import explain", "from encoder.export import tables"]
    lines += [f"{name} = {call}" for name, call in made.items()]
    lines.append(f"table = tables.step_frame({', '.join(made)})")
    Export(
        view,
        f"{opened(params)}, L{view.layer} H{view.head} of {view.loaded.name}",
        lambda: tables.step_frame(*(getattr(explain, name)(view.trace, *given) for name, given in calls)),
        lines="\n".join(lines),
        settings={"Part": opened(params), "Layer": view.layer, "Head": view.head},
    ).draw()


def part_calls(view: View, params: Params) -> list[Call]:
    """The functions of a part, at the selected place."""
    config = view.loaded.config
    in_head, in_model = selected_place(view, config.d_head), selected_place(view, config.d_model)
    variant = selected_variant(view, params)
    calls: dict[str, list[Call]] = {
        "ids": [("text_to_ids", (in_head.query,))],
        "embedding": [("embedding", (selected_place(view, config.embedding_width),))],
        "qkv": [("projection", (in_head, params.vector))],
        "scores": [("score", (in_head, variant))],
        "softmax": [("softmax", (selected_place(view), variant))],
        "mixing": [("weighted_sum", (in_head,)), ("output_projection", (in_model,))],
        "heads": [("output_projection", (in_model,))],
        "norm": [("add_norm", (in_model, params.part))],
        "add": [("add_norm", (in_model, params.part))],
        "ffn": [("feed_forward", (in_model,))],
        "final": [("normalised", ("final_norm", in_model.query, in_model.component))],
        "output": [("pooled", (chosen_pooling(view.trace, "own") or "mean", in_model))],
    }
    return calls[params.step]


def python(call: Call) -> str:
    """A call as Python."""
    name, given = call
    arguments = [f"explain.{value!r}" if dataclasses.is_dataclass(value) else repr(value) for value in given]
    return f"explain.{name}({', '.join(['trace', *arguments])})"
