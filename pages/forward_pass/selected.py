"""The selected number of the open step in one sentence, which stays in the window while a picture is clicked."""

from __future__ import annotations

from collections.abc import Callable

from encoder import explain
from encoder.figures.numbers import three_digits
from pages.core.view import selection
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, state
from pages.forward_pass.ffn import selected_neuron
from pages.forward_pass.params import Params
from pages.forward_pass.scores import selected_variant

VECTORS = {"q": "Query", "k": "Key", "v": "Value"}


def sentence(view: View, params: Params) -> str:
    """What is selected, and its number. Empty for a step without a map, and for the animation."""
    if params.picture == "animation" and params.step in ("scores", "softmax", "mixing"):
        return ""
    return SAID[params.step](view, params) if params.step in SAID else ""


def _embedding(view: View, params: Params) -> str:
    place = selection.selected_place(view, view.loaded.config.embedding_width)
    step, c = explain.embedding(view.trace, place), place.component
    parts = {"token": step.token, "segment": step.segment, "position": step.position}
    added = ", ".join(f"{name} {three_digits(row[c])}" for name, row in parts.items() if row is not None)
    token = selection.token(view, place.query)
    return f"Component {c} of {token}: {added}; sum **{three_digits(step.total[c])}**."


def _projection(view: View, params: Params) -> str:
    place = selection.selected_place(view, view.loaded.config.d_head)
    step = explain.projection(view.trace, place, params.vector)
    token = selection.token(view, step.token)
    value = three_digits(step.vector[place.component])
    return f"{VECTORS[params.vector]} of {token}, component {place.component}: **{value}**."


def _score(view: View, params: Params) -> str:
    place = selection.selected_place(view, view.loaded.config.d_head)
    step = explain.score(view.trace, place, selected_variant(view, params))
    hidden = "" if step.visible else " The mask hides this pair."
    return f"{_pair(view, place)}: q · k = {three_digits(step.dot)}, score **{three_digits(step.value)}**.{hidden}"


def _weight(view: View, params: Params) -> str:
    place = selection.selected_place(view)
    step = explain.softmax(view.trace, place, params.temperature, selected_variant(view, params))
    score = three_digits(step.scores[place.key])
    return f"{_pair(view, place)}: score {score}, weight **{three_digits(step.value)}**."


def _mixing(view: View, params: Params) -> str:
    place = selection.selected_place(view, view.loaded.config.d_head)
    step, c = explain.weighted_sum(view.trace, place), place.component
    value = f"{three_digits(step.weights[place.key])} × {three_digits(step.values[place.key, c])}"
    return (
        f"{_pair(view, place)}, component {c}: weight × value = {value} = **{three_digits(step.terms[place.key])}**; "
        f"sum z: {three_digits(step.z[c])}."
    )


def _norm(view: View, params: Params) -> str:
    place = selection.selected_place(view, view.loaded.config.d_model)
    step, c = explain.add_norm(view.trace, place, params.part), place.component
    return (
        f"Component {c} of {selection.token(view, place.query)}: residual stream {three_digits(step.before[c])}, "
        f"update {three_digits(step.update[c])}, sum {three_digits(step.total[c])}; after the step "
        f"**{three_digits(step.after[c])}**."
    )


def _ffn(view: View, params: Params) -> str:
    place = selected_neuron(view)
    step = explain.feed_forward(view.trace, place)
    return (
        f"Neuron {place.neuron} at {selection.token(view, place.query)}: activation "
        f"**{three_digits(step.hidden[place.neuron])}**; component {place.component} of the output: "
        f"{three_digits(step.output[place.component])}."
    )


def _output(view: View, params: Params) -> str:
    place = selection.selected_place(view, view.loaded.config.d_model)
    journey = explain.journey(view.trace, place)
    pooled = explain.pooled(view.trace, state.newest(PlaceParams.pooling), place)
    stage = min(params.stage or len(journey.stages) - 1, len(journey.stages) - 1)
    return (
        f"{selection.token(view, place.query)}, stage {stage} of {len(journey.stages) - 1}: cosine with its embedding "
        f"**{three_digits(journey.to_start[stage, journey.place.query])}**; component {place.component} of the pooled "
        f"vector: {three_digits(pooled.vector[place.component])}."
    )


def _pair(view: View, place: explain.Place) -> str:
    return f"{selection.token(view, place.query)} → {selection.token(view, place.key)}"


#: Step -> its sentence. The step "ids" has no map.
SAID: dict[str, Callable[[View, Params], str]] = {
    "embedding": _embedding,
    "qkv": _projection,
    "scores": _score,
    "softmax": _weight,
    "mixing": _mixing,
    "norm": _norm,
    "ffn": _ffn,
    "output": _output,
}
