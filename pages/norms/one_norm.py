"""One LayerNorm: what it does to the components of a token, and its gain and bias."""

import streamlit as st

from encoder import explain, figures
from encoder.explain.source import array
from encoder.measure import norms
from pages.components import on_click, plot
from pages.core.widgets import answer
from pages.core.words import formulas, number, plain, table
from pages.norms.selected import EFFECTS, Figures, Selected, select_component


def one_token(selected: Selected) -> Figures:
    """The selected token in the selected LayerNorm."""
    token_label = selected.trace.labels[selected.token]
    place = f"(token {selected.token}) at {selected.label}"
    st.header(f"{plain(token_label)} {place}", anchor=False)
    component, step = selected.shown_component, selected.step
    bars = figures.norm_steps(step.input, step.normalised, step.output, selected=component)
    # Narrow screens stack the columns: the picture comes before the formula.
    picture, derivation = st.columns([3, 2], gap="medium")
    with picture, answer.area():
        answer.draw(component_in_words(step, component), "Select a bar for another component.")
        plot(
            bars,
            key="norm-steps",
            alt=f"The {len(step.input)} components of one token: before the norm, normalised, after gain and bias.",
            height=520,
            on_event=on_click(point=select_component),
        )
        st.caption(f"The formula shows component {component}. {outliers_in_words(step)}")
    with derivation, st.container(key="norm-derivation"):
        formulas.show_step(step.formula)
        st.markdown(moments_table(selected, step))
    with st.expander(f"All {len(step.input)} components as a table"):
        st.dataframe(
            figures.token_steps(step.input, step.normalised, step.gain, step.bias, step.output, step.mean),
            hide_index=True,
            height=320,
        )
    return {f"{token_label} {place}": bars}


def component_in_words(step: explain.Normalised, component: int) -> str:
    """One component before LayerNorm, normalised, and after gain and bias."""
    before, between, after = (float(values[component]) for values in (step.input, step.normalised, step.output))
    return (
        f"Component {component}: before **{number(before)}**, normalised **{number(between)}**, "
        f"output **{number(after)}**."
    )


def moments_table(selected: Selected, step: explain.Normalised) -> str:
    """Mean and standard deviation of the token before and after each step, as a table in Markdown."""
    statistics = selected.statistics
    row = statistics.names.index(selected.norm)
    after = "after × gain" if step.bias is None else "after × gain + bias"
    rows = {
        "before": (step.mean, step.variance**0.5),
        "normalised": (float(step.normalised.mean()), float(step.normalised.std())),
        after: tuple(float(values[row, selected.token]) for values in statistics.after),
    }
    shown = [
        (what, number(0.0 if abs(mean) <= statistics.rounding * std else mean), number(std))  # 0: only rounding
        for what, (mean, std) in rows.items()
    ]
    return f"{table(('Values', 'mean', 'std'), shown)}\n\nε = {number(step.eps)}."


def outliers_in_words(step: explain.Normalised) -> str:
    """The components of this token that are far from its mean."""
    found = [str(component) for component in figures.outliers(step.input)]
    if not found:
        return f"No component is more than {figures.OUTLIER:g} standard deviations from the mean."
    listed = ", ".join(found[:8])
    if len(found) > 8:
        listed += " …"
    return (
        f"More than {figures.OUTLIER:g} standard deviations from the mean: {listed}. "
        "These components raise the standard deviation, which divides all components."
    )


def gain_and_bias(selected: Selected) -> Figures:
    """Gain and bias of the selected LayerNorm; a sentence where they change nothing."""
    norm, found = selected.trace.norms[selected.norm], norms.parameters(selected.trace, selected.norm)
    title = f"Gain of {selected.label}" if norm.bias is None else f"Gain and bias of {selected.label}"
    st.header(title, anchor=False)
    if found.plain:
        st.markdown(plain_in_words(selected, found))
        return {}
    bias = None if norm.bias is None else array(norm.bias)
    bars = figures.gain_bias(array(norm.gain), bias, selected=selected.component)
    height = 200 if bias is None else 320
    plot(bars, height=height, key="gain-bias", alt=f"{title}, one bar per component.")
    st.caption(parameters_in_words(found))
    return {title: bars}


def plain_in_words(selected: Selected, found: norms.Parameters) -> str:
    """A LayerNorm whose gain and bias change nothing."""
    biases = "" if found.bias is None else " and every bias 0"
    effect = EFFECTS[selected.trace.config.norm_kind]
    untrained = "" if selected.view.model.scratch is None else " This model is untrained."
    return f"Every gain is 1{biases}.{untrained} Every output vector has {effect}."


def parameters_in_words(found: norms.Parameters) -> str:
    """The range of gain and bias."""
    said = f"The same for every token. Gains: {between(found.gain)}, mean {number(found.mean_gain)}."
    if found.bias is not None:
        said += f" Biases: {between(found.bias)}."
    return f"{said} Bars start at gain 1 and bias 0, which change nothing. Numbers name the components that stand out."


def between(ends: tuple[tuple[int, float], tuple[int, float]]) -> str:
    """The smallest and the largest value with their components."""
    (low, smallest), (high, largest) = ends
    return f"{number(smallest)} (component {low}) to {number(largest)} (component {high})"
