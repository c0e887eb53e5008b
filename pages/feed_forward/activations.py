"""The map of hidden activations of a layer, and the answer to a click on it."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from encoder import explain
from encoder.explain.neurons import NeuronMap, first_with, most_active, neuron_map
from encoder.figures.feed_forward import neuron_heatmap
from encoder.figures.numbers import three_digits
from encoder.measure import ranking
from pages.components import on_click, plot
from pages.core.inputs.input_words import words_of
from pages.core.view import View, ViewParams, token_rows
from pages.core.view.place import PlaceParams
from pages.core.widgets import answer
from pages.core.words import gestures, token_names
from pages.feed_forward.params import MOST_ACTIVE, NEURONS, Params
from pages.state import state

#: Why the threshold is not 0, for GELU and SiLU without a gate.
_SMALL = " The activation function’s small negative values do not count."
#: Columns of the map of all neurons; more neurons share a column.
COLUMNS = 256


@dataclass(frozen=True)
class Selected:
    """The open layer with its activations, the selected token and neuron; chosen: whether a person selected one."""

    view: View
    layer: explain.HiddenActivations
    token: int
    neuron: int
    chosen: bool

    @property
    def activation(self) -> float:
        """Of the selected neuron at the selected token."""
        return float(self.layer.hidden[self.token, self.neuron])


def select(view: View) -> Selected:
    """The selection of this run: by default the most active neuron of the layer, and the token where it is that."""
    layer = view.derived(("hidden", view.layer), partial(explain.hidden_activations, layer=view.layer))
    neuron, token = state.get(PlaceParams.neuron), view.i
    n_neurons = layer.hidden.shape[1]
    if neuron is not None and neuron >= n_neurons:
        st.warning(f"No neuron {neuron} in layer {view.layer}: choose 0 to {n_neurons - 1}. None is selected.")
        state.put(PlaceParams.neuron, None)
        neuron = None
    chosen = neuron is not None or token is not None
    if neuron is None:
        neuron = int((layer.strength if token is None else layer.strength[token : token + 1]).max(axis=0).argmax())
    if token is None:
        token = int(layer.strength[:, neuron].argmax())
    return Selected(view, layer, token, neuron, chosen)


def draw(selected: Selected) -> NeuronMap:
    """The answer line and the map; returns its numbers. Call it inside `answer.area`."""
    _answer(selected)
    view, n_tokens = selected.view, selected.view.trace.n_tokens
    rows = token_rows.part(n_tokens, selected.token, "neurons")
    found = _shown(selected)
    part = slice(rows.start, rows.stop)
    plot(
        neuron_heatmap(
            found.values[part],
            found.neurons[part],
            view.trace.labels,
            block=found.block,
            token=selected.token,
            neuron=selected.neuron,
            first=rows.start,
            more=len(further(selected)),
        ),
        key="neuron-map",
        alt=f"Activations of neurons of layer {view.layer}: one row per token, the most active neurons at the left.",
        on_event=on_click(
            cell=lambda token, column: _select(found, token, column),
            row=lambda token: state.put(ViewParams.i, token),
            column=lambda column: _select_neuron(found, column),
            clear=_clear,
        ),
    )
    pooled = f" A cell shows the largest of {found.block} neurons." if found.block > 1 else ""
    hint = gestures.invitation(" Select a cell, a token or a neuron.")
    more = ", ".join(f"neuron {neuron} ({answer.ordinal(rank)})" for neuron, rank in further(selected).items())
    ranked = f" Columns: the {MOST_ACTIVE} with the largest activation at any token, then {more}, named above."
    st.caption(
        f"{share(selected)}{pooled}{ranked if more else ''}{token_rows.which(rows, n_tokens, selected.token)}{hint}"
    )
    return found


def above(selected: Selected) -> str:
    """What an active neuron is, in a few words: "activation above 0.1"."""
    limit = f"{selected.layer.threshold:g}"
    below = f" or below −{limit}" if selected.view.loaded.config.gated else ""
    return f"activation above {limit}{below}"


def share(selected: Selected) -> str:
    """How many activations of the layer are active, and how many neurons never are."""
    view, layer = selected.view, selected.layer
    small = "" if layer.threshold == 0 or view.loaded.config.gated else _SMALL
    return (
        f"Active neurons ({above(selected)}): {layer.active_share:.1%} of all activations of layer {view.layer}."
        f"{small} Never active in this {words_of(view.trace).text}: {int(layer.never.sum()):,} of "
        f"{layer.hidden.shape[1]:,} neurons."
    )


def further(selected: Selected) -> dict[int, int]:
    """The neurons at the end of the map that the first line names, with their ranks; none in a map of all."""
    if state.get(Params.neurons) != "most":
        return {}
    order, named = most_active(selected.layer.strength).tolist(), _named(selected)
    return {neuron: rank for rank, neuron in enumerate(order, 1) if rank > MOST_ACTIVE and neuron in named}


def _named(selected: Selected) -> tuple[int, ...]:
    """The neurons of the first line."""
    return tuple(sorted({selected.neuron, *_strongest(selected)}))


def _shown(selected: Selected) -> NeuronMap:
    """The map with the page's choice of neurons."""
    which, named = state.get(Params.neurons), _named(selected)

    def make(_: object) -> NeuronMap:
        order = most_active(selected.layer.strength)
        order = first_with(order, MOST_ACTIVE, named) if which == "most" else order
        return neuron_map(selected.layer.hidden, order, COLUMNS)

    return selected.view.derived(("neuron map", selected.view.layer, which, named), make)


def controls() -> None:
    """Which neurons the map shows."""
    state.segmented(
        Params.neurons,
        "Neurons",
        NEURONS,
        label_visibility="collapsed",
        help="Most active: with the largest activation at any token of this input. All: a cell shows the "
        "neuron of its column whose activation is largest in size.",
    )


def _answer(selected: Selected) -> None:
    values, labels = selected.layer.hidden[selected.token], selected.view.trace.labels
    strength = selected.layer.strength[selected.token].copy()  # torch, which ranks, takes writable arrays only
    rank, _ = ranking.rank(strength, selected.neuron)
    strongest = ", ".join(
        f"{'neuron ' if at == 0 else ''}**{neuron}** ({three_digits(float(values[neuron]))})"
        for at, neuron in enumerate(_strongest(selected))
    )
    at = f"**{token_names.quoted(labels, selected.token)}**"
    share = f"{selected.layer.active_by_token[selected.token]:.0%} of {len(values):,} neurons"
    active = f"Active ({above(selected)}): {share}."
    if state.get(PlaceParams.neuron) is None:
        answer.draw(
            f"{at} activates most: {strongest}. {active}", _tokens(selected), clear=_clear if selected.chosen else None
        )
        return
    answer.draw(
        f"Neuron **{selected.neuron}** at {at}: activation **{three_digits(selected.activation)}** "
        f"({answer.ordinal(rank)} of {len(values):,}).",
        f"Largest at this token: {strongest}. {active} {_tokens(selected)}",
        clear=_clear,
    )


def _strongest(selected: Selected) -> list[int]:
    """The neurons that the first line names: the most active ones at the selected token."""
    strength = selected.layer.strength[selected.token]
    return [int(neuron) for neuron in np.argsort(-strength, kind="stable")[: answer.NAMED]]


def _tokens(selected: Selected) -> str:
    """The tokens where the selected neuron is active, the largest activations first."""
    values, labels = selected.layer.hidden[:, selected.neuron], selected.view.trace.labels
    strength = selected.layer.strength[:, selected.neuron]
    active = [int(at) for at in np.argsort(-strength, kind="stable") if selected.layer.active[at, selected.neuron]]
    if not active:
        return f"No token activates neuron {selected.neuron}."
    strongest = ", ".join(
        f"{token_names.plain(labels, at)} {three_digits(float(values[at]))}" for at in active[: answer.NAMED]
    )
    return f"Neuron {selected.neuron} is active at {len(active):,} of {len(values):,} tokens: {strongest}."


def _select(found: NeuronMap, token: int, column: int) -> None:
    if token < len(found.neurons) and column < found.neurons.shape[1]:
        state.put(ViewParams.i, token)
        state.put(PlaceParams.neuron, int(found.neurons[token, column]))


def _select_neuron(found: NeuronMap, column: int) -> None:
    """Select the neuron of a column's label, where a column is one neuron."""
    if found.block == 1 and column < found.neurons.shape[1]:
        state.put(PlaceParams.neuron, int(found.neurons[0, column]))


def _clear() -> None:
    state.put(ViewParams.i, None)
    state.put(PlaceParams.neuron, None)
