"""One LayerNorm: its gain and bias."""

import re

import streamlit as st

from encoder import figures
from encoder.explain.source import array
from encoder.measure import norms
from pages.components import plot
from pages.core.widgets import answer
from pages.core.words import number
from pages.norms.params import STATISTICS
from pages.norms.selected import Figures, Selected, choose_norm
from pages.norms.token_statistics import selected_in_words
from pages.state import links


def gain_and_bias(selected: Selected) -> Figures:
    """Gain and bias of the selected LayerNorm; a sentence where they change nothing."""
    norm, found = selected.trace.norms[selected.norm], norms.parameters(selected.trace, selected.norm)
    drawn: Figures = {}
    title = f"Gain of {selected.label}" if norm.bias is None else f"Gain and bias of {selected.label}"
    said = selected_in_words(selected, *STATISTICS)
    if found.plain:
        st.markdown(f"{plain_in_words(selected, found)} {said}")
    else:
        bias = None if norm.bias is None else array(norm.bias)
        bars = figures.gain_bias(array(norm.gain), bias, selected=selected.component)
        height = 200 if bias is None else 320
        with answer.area():
            answer.draw(most_in_words(selected, found))
            plot(bars, height=height, key="gain-bias", alt=f"{title}, one bar per component.")
        drawn[title] = bars
    choose_norm(selected)
    if not found.plain:
        st.caption(f"{said} {parameters_in_words(found)}")
    if part := part_of_model(selected.norm):
        links.button(
            "model",
            "Each step of this norm for this token",
            "calculate",
            "open-norm",
            {**part, "i": selected.token},
            type="tertiary",
        )
    return drawn


def part_of_model(norm: str) -> dict[str, object]:
    """The values of the page Model that open this norm; none for a norm without a part of its own."""
    if layer := re.fullmatch(r"layers\.(\d+)\.(first_ffn|attention|convolution|ffn|end|adapter)_norm", norm):
        return {"step": "norm", "part": layer[2], "layer": int(layer[1])}
    return {"step": "embedding"} if norm == "embedding_norm" else {"step": "final"} if norm == "final_norm" else {}


def plain_in_words(selected: Selected, found: norms.Parameters) -> str:
    """A LayerNorm whose gain and bias change nothing."""
    biases = "" if found.bias is None else " and every bias 0"
    untrained = "" if selected.view.model.untrained is None else " This model is untrained."
    return f"{_beginning(selected)}: every gain is 1{biases}.{untrained} Every output vector has {selected.effect}."


def _beginning(selected: Selected) -> str:
    """The selected norm at the beginning of a sentence."""
    return f"{selected.label[:1].upper()}{selected.label[1:]}"


def most_in_words(selected: Selected, found: norms.Parameters) -> str:
    """The components that gain and bias change most."""
    component, gain = max(found.gain, key=lambda end: abs(end[1] - 1))
    said = f"{_beginning(selected)} scales component **{component}** most: gain **{number(gain)}**."
    if found.bias is not None:
        component, bias = max(found.bias, key=lambda end: abs(end[1]))
        said += f" Shifted most: component **{component}**, bias **{number(bias)}**."
    return said


def parameters_in_words(found: norms.Parameters) -> str:
    """The range of gain and bias."""
    what = "The gain is" if found.bias is None else "Gain and bias are"
    said = f"{what} the same for every token. Gains: {between(found.gain)}, mean {number(found.mean_gain)}."
    if found.bias is not None:
        said += f" Biases: {between(found.bias)}."
    return f"{said} Bars start at gain 1 and bias 0, which change nothing. Numbers name the components that stand out."


def between(ends: tuple[tuple[int, float], tuple[int, float]]) -> str:
    """The smallest and the largest value with their components."""
    (low, smallest), (high, largest) = ends
    return f"{number(smallest)} (component {low}) to {number(largest)} (component {high})"
