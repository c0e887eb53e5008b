"""Mean and standard deviation of every token's vector: at all LayerNorms, and next to RMSNorm and BatchNorm."""

from typing import Any

import numpy as np
import streamlit as st

from encoder import explain, figures
from encoder.figures.numbers import three_digits
from pages.components import on_click, plot
from pages.core.inputs.input_words import words_of
from pages.core.stores import input_kinds
from pages.core.view import MapParams, ViewParams, selection, token_rows
from pages.core.widgets import adjust, answer
from pages.core.words import about, plain, references
from pages.norms.params import MOMENTS, STATISTICS, Params
from pages.norms.selected import EFFECTS, Figures, Selected
from pages.state import state

#: A second example of the batch: it moves the outputs of BatchNorm only.
NEIGHBOUR = "The old wooden cabinet fell into the river."
CURVES = {"input": "before", "layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm"}


def overview(selected: Selected) -> Figures:
    """The map of all LayerNorms and tokens. Returns the maps of both statistics, before and after, for the report."""
    view, statistics = selected.view, selected.statistics
    names, labels = statistics.names, view.trace.labels
    part = token_rows.part(len(labels), view.i, "norms")
    with adjust.drawer("norms"):
        statistic = state.segmented(Params.statistic, "Statistic", STATISTICS)
        scale = state.segmented(
            MapParams.scale,
            "Colours",
            ["linear", "log"],
            help="Of the standard deviations. Log: small values stay visible next to an outlier.",
        )
    moment = state.newest(Params.moment)
    drawn = {
        (when, what): figure
        for when in MOMENTS
        for what, figure in maps_of(selected, when, part, log=scale == "log").items()
    }
    title = f"{STATISTICS[statistic]} {moment} each {selected.kind}"
    with answer.area():
        answer.draw(
            ends_in_words(selected, moment, statistic),
            selected_in_words(selected, statistic),
            clear=None if view.i is None else selection.clear,
        )
        plot(
            drawn[moment, statistic],
            key="norms",
            alt=f"{title}: one row per norm, one column per token.",
            shows=f"{moment} {statistic}",
            on_event=on_click(
                row=lambda norm: state.put(Params.at, names[norm]),
                column=lambda token: state.put(ViewParams.i, token),
                clear=selection.clear,
            ),
        )
    said = before_in_words(selected) if moment == "before" else after_in_words(selected)
    st.caption(said + token_rows.which(part, len(labels), view.i))
    return {f"{STATISTICS[what]} {when} each {selected.kind}": figure for (when, what), figure in drawn.items()}


def maps_of(selected: Selected, moment: str, part: slice, *, log: bool) -> Figures:
    """Standard deviations and means before or after every LayerNorm, by the statistic; both moments on one scale."""
    view, statistics = selected.view, selected.statistics
    names, labels = statistics.names, view.trace.labels
    place: dict[str, Any] = {"selected": (names.index(selected.norm), view.i), "first": part.start}
    mean, std = getattr(statistics, moment)
    rounding = statistics.rounding * float(std.max())
    _, other = statistics.after if moment == "before" else statistics.before
    look = {"colours": view.colours, "log": log, "beside": other[:, part]}
    deviations = figures.norm_deviations(std[:, part], names, labels, **look, **place)
    return {"std": deviations, "mean": figures.norm_means(mean[:, part], names, labels, zero_below=rounding, **place)}


def ends_in_words(selected: Selected, moment: str, statistic: str) -> str:
    """What a norm does to every vector; the largest and the smallest number of the shown map, before and after."""
    found, at = selected.statistics, ("mean", "std").index(statistic)
    pairs = []
    for which, place in zip(("largest", "smallest"), found.ends(moment, statistic), strict=True):
        before, after = (three_digits(numbers[at][place]) for numbers in (found.before, found.after))
        pairs.append(
            f"{which} **{before} → {after}** ({selected.quoted(place[1])}, {figures.norm_label(found.names[place[0]])})"
        )
    effect = EFFECTS[selected.trace.config.norm_kind]
    return (
        f"{selected.kind} sets {effect}; applying {selected.parameters} changes that again. "
        f"{STATISTICS[statistic]} before → after: {', '.join(pairs)}."
    )


def selected_in_words(selected: Selected, *statistics: str) -> str:
    """The numbers of the selected token at the selected LayerNorm. statistics: keys of STATISTICS."""
    at = selected.statistics.names.index(selected.norm), selected.token
    (mean, std), (mean_after, std_after) = selected.statistics.before, selected.statistics.after
    said = [
        f"{STATISTICS[one].lower()} {three_digits(before[at])} → **{three_digits(after[at])}**"
        for one, before, after in (("std", std, std_after), ("mean", mean, mean_after))
        if one in statistics
    ]
    is_widest = selected.norm == selected.statistics.widest_of(selected.token)
    largest = "is largest " * (is_widest and state.newest(Params.moment) == "before")
    return f"{selected.quoted(selected.token)} {largest}at {figures.norm_label(selected.norm)}: {', '.join(said)}."


def before_in_words(selected: Selected) -> str:
    """The range of the means before all norms."""
    mean, std = selected.statistics.before
    ends = f"{three_digits(std.min())} to {three_digits(std.max())}"
    return f"Before the {selected.kind}s, means: {between(mean)}; standard deviations: {ends}."


def after_in_words(selected: Selected) -> str:
    """The effect of gain and bias on the normalised vectors."""
    statistics = selected.statistics
    mean, std = statistics.after
    largest = float(np.abs(mean).max())
    if largest <= statistics.rounding * float(std.max()):
        return (
            f"Gain 1 and bias 0 change nothing. Means: 0 up to rounding, at most {three_digits(largest)} in size. "
            f"Standard deviations: {std.min():.4f} to {std.max():.4f}."
        )
    return (
        f"Before gain and bias, every vector has {selected.effect}. After them, means: {between(mean)}; standard "
        f"deviations: {between(std)}."
    )


def three_norms(selected: Selected) -> Figures:
    """Means and standard deviations of every token under the three normalisations."""
    kinds = "LayerNorm, RMSNorm, BatchNorm"
    st.header(kinds, anchor=False)
    st.markdown(about.text(__file__, kinds, norm=selected.label))
    found: explain.NormMoments = selected.view.derived(
        ("norm moments", selected.norm),
        lambda trace: explain.norm_moments(trace, selected.view.about(neighbour(selected)).trace, selected.norm),
    )
    n_tokens, token = selected.trace.n_real, selected.view.i
    part = token_rows.part(n_tokens, token, "three-norms")
    moments = {title: tuple(values[part] for values in found.moments[kind]) for kind, title in CURVES.items()}
    curves = figures.token_statistics(moments, selected.trace.labels, selected=token, first=part.start)
    plot(
        curves,
        height=420,
        key="three-norms",
        alt="Mean and standard deviation of each token's vector before and after LayerNorm, RMSNorm and BatchNorm.",
    )
    if said := token_rows.which(part, n_tokens, token):
        st.caption(said.strip())
    references.markdown(f"{norms_in_words(selected, found)}\n\n{neighbour_in_words(selected, found)}")
    return {f"Through LayerNorm, RMSNorm and BatchNorm before {selected.label}": curves}


def norms_in_words(selected: Selected, found: explain.NormMoments) -> str:
    """The means and standard deviations after each normalisation."""
    before, layer, rms, batch = (found.moments[kind] for kind in ("input", "layer", "rms", "batch"))
    narrow, wide = int(batch[1].argmin()), int(batch[1].argmax())
    return (
        f"Standard deviations before: {between(before[1])}. After LayerNorm: {between(layer[1])}, and all means 0. "
        f"After RMSNorm, means: {between(rms[0])}; standard deviations: {between(rms[1])}. "
        f"After BatchNorm, standard deviations: {three_digits(batch[1][narrow])} for {selected.quoted(narrow)} to "
        f"{three_digits(batch[1][wide])} for {selected.quoted(wide)}."
    )


def between(values) -> str:
    """The smallest and the largest value; one number where both are equal."""
    ends = (three_digits(values.min()), three_digits(values.max()))
    return " to ".join(dict.fromkeys(ends))


def neighbour(selected: Selected) -> str:
    """The second example of the batch: a sentence, or the name of another image or sound."""
    view = selected.view
    if view.loaded.takes == "text":
        return NEIGHBOUR
    return next(name for name in input_kinds.of(view.loaded).names(view.loaded) if name != view.run.input.name)


def neighbour_in_words(selected: Selected, found: explain.NormMoments) -> str:
    """The effect of a second example in the batch on the outputs of this input."""
    moved = found.apart
    name = input_kinds.of(selected.view.loaded).title(neighbour(selected))
    return (
        f"“{plain(name)}” joins the batch in training. Largest change in this {words_of(selected.trace).input}: "
        f"LayerNorm {three_digits(moved['layer'])}, RMSNorm {three_digits(moved['rms'])}, "
        f"BatchNorm **{three_digits(moved['batch'])}**. "
        "LayerNorm computes the same in training and inference (Ba et al. 2016)."
    )
