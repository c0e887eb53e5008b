"""What the page Model exports: the open part's numbers, or the residual stream of the selected token."""

import dataclasses

from encoder import explain
from encoder.documents import tables
from encoder.explain.output import chosen_pooling
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from pages.core.view.place import selected_place
from pages.core.view.view import View
from pages.core.widgets.export import Export
from pages.model import decoder
from pages.model.params import Params, opened
from pages.model.picture import selected_variant

#: A function of `encoder.explain` and its arguments after the trace.
Call = tuple[str, tuple[object, ...]]


def export(view: View, trace: Trace, params: Params) -> None:
    """A table, and the Python lines that make it again. trace: of `decoder.traced`."""
    subject = decoder.of(trace)
    if params.step in ("", "class", "next"):
        _stream(view, subject)
    else:
        _part(view, subject, params)


def _stream(view: View, of_decoder: DecoderTrace | None) -> None:
    trace = of_decoder or view.trace
    token = (view.i or 0) if of_decoder is None else decoder.place(view, of_decoder).query
    Export(
        view,
        f"Residual stream of {trace.labels[token]} in {view.loaded.name}",
        lambda: tables.flow_frame(explain.token_flow(trace, token)),
        settings={"Token": token},
        lines=_start(view, of_decoder) + "from encoder import explain, export\nfrom encoder.export import tables\n"
        f"flow = explain.token_flow(trace, {token})\ntable = tables.flow_frame(flow)\n"
        f"picture = export.model(trace, {view.layer}, {view.head}, {view.i}, {view.j})",
    ).draw()


def _start(view: View, of_decoder: DecoderTrace | None) -> str:
    return "" if of_decoder is None else decoder.python(view)


def _part(view: View, of_decoder: DecoderTrace | None, params: Params) -> None:
    calls, trace = part_calls(view, params, of_decoder), of_decoder or view.trace
    made = {f"{call[0]}_step": python(call) for call in calls}
    lines = ["from encoder import explain", "from encoder.export import tables"]
    lines += [f"{name} = {call}" for name, call in made.items()]
    lines.append(f"table = tables.step_frame({', '.join(made)})")
    Export(
        view,
        f"{opened(params)}, L{view.layer} H{view.head} of {view.loaded.name}",
        lambda: tables.step_frame(*(getattr(explain, name)(trace, *given) for name, given in calls)),
        lines=_start(view, of_decoder) + "\n".join(lines),
        settings={"Part": opened(params), "Layer": view.layer, "Head": view.head},
    ).draw()


def part_calls(view: View, params: Params, of_decoder: DecoderTrace | None = None) -> list[Call]:
    """The functions of a part, at the selected place."""
    config = (of_decoder or view.trace).config

    def place(width: int | None = None) -> explain.Place:
        return selected_place(view, width) if of_decoder is None else decoder.place(view, of_decoder, width)

    in_head, in_model = place(config.d_head), place(config.d_model)
    cross = in_head if of_decoder is None else decoder.in_input(of_decoder, in_head)
    variant = selected_variant(view, params)
    calls: dict[str, list[Call]] = {
        "ids": [("text_to_ids", (in_head.query,))],
        "embedding": [("embedding", (place(config.embedding_width),))],
        "qkv": [("projection", (in_head, params.vector))],
        "scores": [("score", (in_head, variant))],
        "softmax": [("softmax", (place(), variant))],
        "mixing": [("weighted_sum", (in_head,)), ("output_projection", (in_model,))],
        "heads": [("output_projection", (in_model,))],
        "cross-scores": [("cross_score", (cross,))],
        "cross": [("cross_softmax", (cross,))],
        "cross-mixing": [("cross_weighted_sum", (cross,))],
        "norm": [("add_norm", (in_model, params.part))],
        "convolution": [("convolution", (in_model,))],
        "first_ffn": [("feed_forward", (in_model, "first_ffn"))],
        "add": [("add_norm", (in_model, params.part))],
        "ffn": [("feed_forward", (in_model,))],
        "adapter": [("feed_forward", (in_model, "adapter"))],
        "final": [("normalised", ("final_norm", in_model.query, in_model.component))],
        "output": [("pooled", (chosen_pooling(view.trace, "own") or "mean", in_model))],
    }
    if params.step == "norm" and params.part == "end":
        name = f"layers.{in_model.layer}.end_norm"
        return [("normalised", (name, in_model.query, in_model.component))]
    return calls[params.step]


def python(call: Call) -> str:
    """A call as Python."""
    name, given = call
    arguments = [f"explain.{value!r}" if dataclasses.is_dataclass(value) else repr(value) for value in given]
    return f"explain.{name}({', '.join(['trace', *arguments])})"
