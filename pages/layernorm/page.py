"""LayerNorm: every token's mean and standard deviation at every norm, before and after; one norm in full detail: a
token's arithmetic, the outlier dimensions, gain and bias, and RMSNorm and BatchNorm beside it."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from encoder import explain, figures
from encoder.explain.source import array
from encoder.measure import norms
from pages.components import plot
from pages.core import cache, formulas, sidebar, token_rows
from pages.core.frame import current_view, heading
from pages.core.view import state
from pages.layernorm.export import export_norms

#: Joins the sentence in one batch, to show which norm lets it.
NEIGHBOUR = "The old wooden cabinet fell into the river."
KINDS = {"input": "before", "layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm"}

#: Heading -> the picture below it, for the report.
Drawn = dict[str, go.Figure]

#: Room kept for the formulas: the page below stays where it is when another token is chosen, and when the formulas'
#: script arrives late.
STYLE = ".st-key-norm-derivation { min-height: 39rem; }"

view = current_view()
trace, config, labels = view.trace, view.loaded.config, view.trace.labels
#: Drawn at random from a seed, and nothing learned since.
untrained = view.model.source == "scratch"
statistics = cache.derived(view.model, view.text, view.pair, "norm statistics", norms.statistics)
number = formulas.number


def main() -> None:
    st.html(f"<style>{STYLE}</style>")
    heading()
    st.markdown(introduction())
    name = chosen_norm()
    token = view.i if view.i is not None else min(1, trace.n_tokens - 1)
    shown = overview(name)
    step, drawn = in_detail(name, token)
    shown |= drawn | outlier_dimensions(name) | gain_and_bias(name) | three_norms(name)
    export_norms(view, name, token, step, shown)


def introduction() -> str:
    """What a norm does, and where they stand in this model."""
    where = (
        "after each sublayer's sum, x ← norm(x + f(x)): **post-norm**"
        if config.norm_placement == "post"
        else "before each sublayer, x ← x + f(norm(x)): **pre-norm**"
    )
    own = "gain and bias" if config.norm_bias else "gain"
    origin = (
        f"{own}. Nothing is trained here: every gain is still 1{' and every bias 0' * config.norm_bias}."
        if untrained
        else f"{own}, which training has found."
    )
    return (
        f"**{view.loaded.name}** has {len(statistics.names)} norms, {where}. Each takes the mean off a token's vector "
        f"and divides it by its standard deviation; then every component gets its own {origin} Click a cell to choose "
        "a norm and a token."
    )


def chosen_norm() -> str:
    """The norm that is looked at: a slider through the layers; the first norm where none is named."""
    names, at = statistics.names, state.get("at")
    if at and at not in names:
        st.warning(f"This model has no norm {sidebar.plain(at[:60])}. Shown: {figures.norm_label(names[0])}.")
        state.put("at", "")
    at = at if at in names else names[0]
    if len(names) > 1:
        st.session_state["norm-slider"] = at
        st.select_slider(
            "Norm",
            names,
            key="norm-slider",
            format_func=figures.norm_label,
            on_change=take_over_slider,
            width="stretch",
        )
    return at


def take_over_slider() -> None:
    state.put("at", st.session_state["norm-slider"])


def quoted(token: int) -> str:
    """A token in a sentence."""
    return f"“{sidebar.plain(labels[token])}”"


# --- All norms -----------------------------------------------------------------------------------------------------


def overview(name: str) -> Drawn:
    """The maps of all norms: means and standard deviations, before and after."""
    drawn = {}
    part = token_rows.part(trace.n_tokens, view.i, "norms")
    scale = state.bound(
        st.segmented_control,
        "scale",
        "Colour of standard deviations",
        ["linear", "log"],
        required=True,
        help="Logarithmic colours show the small ones beside an outlier.",
    )
    place = {"selected": (statistics.names.index(name), view.i), "first": part.start}
    moments = {"before": ("Before the norms", statistics.before), "after": ("After them", statistics.after)}
    for moment, (title, (mean, std)) in moments.items():
        st.subheader(title, anchor=False)
        maps = {
            "mean": figures.norm_means(
                mean[:, part], statistics.names, labels, zero_below=statistics.rounding * float(std.max()), **place
            ),
            "standard deviation": figures.norm_deviations(
                std[:, part], statistics.names, labels, colours=view.colours, log=scale == "log", **place
            ),
        }
        drawn |= {f"{title}: {what}": figure for what, figure in maps.items()}
        for column, (what, figure) in zip(st.columns(2), maps.items(), strict=True):
            with column:
                plot(
                    figure,
                    key=f"norms-{moment}-{what.split()[-1]}",
                    alt=f"{title}: {what} of each token's vector. One row a norm, one column a token.",
                    height=token_rows.height(len(statistics.names), pitch=18, frame=150),
                    on_event=select_cell,
                )
        st.caption(before_in_words() if moment == "before" else after_in_words())
    if said := token_rows.which(part, trace.n_tokens, view.i):
        st.caption(said.strip())
    return drawn


def before_in_words() -> str:
    """Where the vectors are widest before a norm."""
    norm, token = statistics.widest
    mean, std = (values[norm, token] for values in statistics.before)
    return (
        f"The widest vector before a norm is that of {quoted(token)} (token {token}) at "
        f"{figures.norm_label(statistics.names[norm])}: standard deviation {std:.3g}, mean {number(float(mean))}."
    )


def after_in_words() -> str:
    """What gain and bias leave of mean 0 and standard deviation 1."""
    mean, std = statistics.after
    largest = float(np.abs(mean).max())
    if largest <= statistics.rounding * float(std.max()):
        return (
            f"With gain 1 and bias 0 each mean is 0 up to rounding (the largest is {number(largest)}) and each "
            f"standard deviation 1 (they run from {std.min():.4f} to {std.max():.4f})."
        )
    return (
        f"Without gain and bias each mean would be 0 and each standard deviation 1. With them the means run from "
        f"{number(float(mean.min()))} to {number(float(mean.max()))}, the standard deviations from "
        f"{number(float(std.min()))} to {number(float(std.max()))}."
    )


def select_cell(event: dict) -> None:
    """A click on a cell selects its norm and its token, on a label either of them; Esc selects no token."""
    if event.get("event") != "click":
        return
    if event["axis"] == "clear":
        sidebar.select(None, None)
    if event["axis"] in ("cell", "y"):
        state.put("at", statistics.names[event["i"]])
    if event["axis"] in ("cell", "x"):
        state.put("i", event["j"])


# --- One token at one norm -----------------------------------------------------------------------------------------


def in_detail(name: str, token: int) -> tuple[explain.Normalised, Drawn]:
    """One token through one norm: numbers, formula, bars, table."""
    title = f"{labels[token]} (token {token}) at {figures.norm_label(name)}"
    st.subheader(f"{sidebar.plain(labels[token])} (token {token}) at {figures.norm_label(name)}", anchor=False)
    component = chosen_component(name, token)
    step = explain.normalised(trace, name, token, component)
    left, right = st.columns([2, 3], gap="medium")
    with left, st.container(key="norm-derivation"):
        formulas.show_step(step.formula)
        st.markdown(moments_table(name, token, step))
    bars = figures.norm_steps(step.input, step.normalised, step.output, selected=component)
    with right:
        plot(
            bars,
            key="norm-steps",
            alt=f"The {len(step.input)} components of one token before the norm, normalised, and after gain and bias.",
            height=460,
            on_event=select_component,
        )
        st.caption(f"The formula shows component {component}; click a bar for another. {outlier_sentence(step)}")
    with st.expander(f"All {len(step.input)} components as a table"):
        st.dataframe(
            figures.token_steps(step.input, step.normalised, step.gain, step.bias, step.output, step.mean),
            hide_index=True,
            height=320,
        )
    return step, {title: bars}


def moments_table(name: str, token: int, step: explain.Normalised) -> str:
    """Mean and standard deviation of the token along the norm, as a table in Markdown."""
    row = statistics.names.index(name)
    after = "after × gain" + " + bias" * (step.bias is not None)
    rows = {
        "before": (step.mean, step.variance**0.5),
        "normalised": (float(step.normalised.mean()), float(step.normalised.std())),
        after: tuple(float(values[row, token]) for values in statistics.after),
    }
    # A mean that is nothing but rounding reads 0.
    lines = [
        f"| {what} | {number(mean if abs(mean) > statistics.rounding * std else 0.0)} | {number(std)} |"
        for what, (mean, std) in rows.items()
    ]
    return "\n".join(["| | mean | std |", "|---|---:|---:|", *lines, "", f"ε is {number(step.eps)}."])


def chosen_component(name: str, token: int) -> int:
    """The component that the formula shows: the selected one, or the one farthest from the mean."""
    width = trace.norms[name].gain.shape[0]
    component = state.get("component")
    if component is not None and component >= width:
        st.warning(f"component={component}: this norm has components 0 to {width - 1}. None is selected.")
        state.put("component", None)
        component = None
    return norms.largest_component(trace, name, token) if component is None else component


def select_component(event: dict) -> None:
    """A click on a bar selects its component."""
    if event.get("event") == "click" and event["axis"] == "point" and isinstance(event.get("x"), int):
        state.put("component", event["x"])


def outlier_sentence(step: explain.Normalised) -> str:
    """Which components stand out before the norm."""
    found = [str(component) for component in figures.outliers(step.input)]
    if not found:
        return f"No component lies more than {figures.OUTLIER:g} standard deviations from the mean."
    return (
        f"More than {figures.OUTLIER:g} standard deviations from the mean: component{'s' * (len(found) > 1)} "
        f"{', '.join(found[:8])}{' …' * (len(found) > 8)}. Such outliers set the scale of all the others."
    )


# --- Outlier dimensions --------------------------------------------------------------------------------------------


def outlier_dimensions(name: str) -> Drawn:
    """Which components of the vectors before the norms are far larger than all others, here and at every norm."""
    title = f"Outlier dimensions before {figures.norm_label(name)}"
    st.subheader(title, anchor=False)
    found = cache.derived(view.model, view.text, view.pair, "outlier dimensions", norms.outlier_dimensions)
    here = found.at(name)
    st.markdown(outliers_in_words(here))
    at_norm, everywhere = st.columns(2, gap="medium")
    sizes = figures.component_sizes(
        here.ratio,
        threshold=norms.TIMES_CHANCE * here.chance,
        chance=here.chance,
        named=here.outliers[:4],
        selected=state.get("component"),
    )
    with at_norm:
        plot(
            sizes,
            key="component-sizes",
            alt=f"The largest size of each of {len(here.ratio)} components over all tokens, to the median.",
            height=400,
            on_event=select_component,
        )
        st.caption(
            "Each bar is one component: the largest |x| it has at any token, divided by the median of all, "
            f"{number(here.median)}. The dotted line, {here.chance:.1f}, is what as many random (normal) numbers "
            "would reach."
        )
    names, components, ratios = found.across(name)
    selected = (names.index(name), state.get("component"))
    largest = figures.outlier_map(ratios, names, components, colours=view.colours, selected=selected)
    with everywhere:
        plot(
            largest,
            key="outlier-map",
            alt=f"The largest size of {len(components)} components before each of {len(names)} norms, to the median.",
            height=400,
            on_event=lambda event: select_outlier(event, names, components),
        )
        st.caption(leaders_in_words(found))
    return {title: sizes, "The largest components before every norm": largest}


def outliers_in_words(here: norms.Extremes) -> str:
    """The outliers before one norm, with their tokens."""
    threshold = norms.TIMES_CHANCE * here.chance
    if not here.outliers:
        top = here.order[0]
        return (
            f"No component stands out: the largest, component {top}, reaches {here.ratio[top]:.1f} times the "
            f"median of all sizes (at {quoted(here.token[top])}), and as many random numbers would reach "
            f"{here.chance:.1f}. Counted as outliers are those beyond {threshold:.0f}."
        )
    said = [
        f"**component {one}** with |x| = {here.largest[one]:.3g} at {quoted(here.token[one])}, "
        f"{here.ratio[one]:.0f} times the median"
        for one in here.outliers[:4]
    ]
    more = len(here.outliers) - len(said)
    return (
        f"{len(here.outliers)} of {len(here.ratio)} components stand out, beyond {threshold:.0f} times the median "
        f"of all sizes: {'; '.join(said)}{f'; and {more} more' if more else ''}. A norm divides by a standard "
        "deviation that these few components make, and their gain decides what is left of them."
    )


def leaders_in_words(found: norms.OutlierDimensions) -> str:
    """Which component is the largest, norm after norm."""
    leaders, total = found.leaders(), len(found.by_norm)
    first, times = next(iter(leaders.items()))
    others = [f"component {one} at {count}" for one, count in list(leaders.items())[1:4]]
    rest = f", {', '.join(others)}" if others else ""
    return (
        f"The same before every norm. Component {first} is the largest at {times} of {total} norms{rest}. "
        "Click a cell to choose the norm and the component."
    )


def select_outlier(event: dict, names: tuple[str, ...], components: tuple[int, ...]) -> None:
    """A click on a cell selects its norm and its component, on a label either of them."""
    if event.get("event") != "click":
        return
    if event["axis"] == "clear":
        state.put("component", None)
    if event["axis"] in ("cell", "y"):
        state.put("at", names[event["i"]])
    if event["axis"] in ("cell", "x"):
        state.put("component", components[event["j"]])


# --- Gain and bias -------------------------------------------------------------------------------------------------


def gain_and_bias(name: str) -> Drawn:
    """The norm's own parameters."""
    norm, found = trace.norms[name], norms.parameters(trace, name)
    own = "Gain" if norm.bias is None else "Gain and bias"
    st.subheader(f"{own} of {figures.norm_label(name)}", anchor=False)
    if found.plain:
        st.markdown(plain_in_words(found))
        return {}
    bias = None if norm.bias is None else array(norm.bias)
    bars = figures.gain_bias(array(norm.gain), bias, selected=state.get("component"))
    st.plotly_chart(
        bars,
        height=320 if found.bias else 200,
        key="gain-bias",
        alt=f"{own} of {figures.norm_label(name)}, one bar a component.",
    )
    st.caption(parameters_in_words(found))
    return {f"{own} of {figures.norm_label(name)}": bars}


def plain_in_words(found: norms.Parameters) -> str:
    """A norm whose gain and bias change nothing."""
    biases = "" if found.bias is None else " and every bias 0"
    reason = "as drawn: an encoder from scratch has learned nothing yet" if untrained else "so they change nothing"
    return f"Every gain is 1{biases}, {reason}. What leaves the norm has mean 0 and standard deviation 1."


def parameters_in_words(found: norms.Parameters) -> str:
    """The range of gain and bias."""
    (low, smallest), (high, largest) = found.gain
    said = (
        f"The same for every token. Gains are drawn from 1, which changes nothing: they run from {number(smallest)} "
        f"(component {low}) to {number(largest)} (component {high}), {number(found.mean_gain)} on average."
    )
    if found.bias is not None:
        (low, smallest), (high, largest) = found.bias
        said += (
            f" Biases are drawn from 0: from {number(smallest)} (component {low}) to {number(largest)} "
            f"(component {high})."
        )
    return said + " Components that stand out are numbered."


# --- Three norms ---------------------------------------------------------------------------------------------------


def three_norms(name: str) -> Drawn:
    """The same input through LayerNorm, RMSNorm and BatchNorm."""
    st.subheader("LayerNorm, RMSNorm, BatchNorm", anchor=False)
    st.markdown(
        f"The vectors before {figures.norm_label(name)} through three norms, without gain and bias. **LayerNorm** "
        "looks at one token at a time and sets its mean to 0 and its standard deviation to 1. **RMSNorm** divides"
        " by the root of the mean square and leaves the mean in. **BatchNorm** looks at one component across all "
        "tokens, so what becomes of a token depends on its neighbours."
    )
    found: explain.NormMoments = cache.derived(
        view.model,
        view.text,
        view.pair,
        ("norm moments", name),
        lambda own: explain.norm_moments(own, cache.trace(view.model, NEIGHBOUR), name),
    )
    part = token_rows.part(trace.n_real, view.i, "three-norms")
    moments = {title: tuple(values[part] for values in found.moments[kind]) for kind, title in KINDS.items()}
    drawn = figures.token_statistics(moments, labels, selected=view.i, first=part.start)
    st.plotly_chart(
        drawn,
        height=420,
        key="three-norms",
        alt="Mean and standard deviation of each token's vector before and after LayerNorm, RMSNorm and BatchNorm.",
    )
    if said := token_rows.which(part, trace.n_real, view.i):
        st.caption(said.strip())
    st.markdown(norms_in_words(found.moments))
    st.markdown(neighbours_in_words(found.apart))
    return {f"Through LayerNorm, RMSNorm and BatchNorm before {figures.norm_label(name)}": drawn}


def norms_in_words(moments: dict) -> str:
    """What each of the three makes of the tokens' means and standard deviations."""
    before, rms, batch = (moments[kind] for kind in ("input", "rms", "batch"))
    narrow, wide = int(batch[1].argmin()), int(batch[1].argmax())
    return (
        f"Before, the standard deviations run from {number(float(before[1].min()))} to "
        f"{number(float(before[1].max()))}. After LayerNorm all are 1 and all means 0. After RMSNorm the means run"
        f" from {number(float(rms[0].min()))} to {number(float(rms[0].max()))}. After BatchNorm the tokens still "
        f"differ: {quoted(narrow)} has standard deviation {number(float(batch[1][narrow]))}, {quoted(wide)} "
        f"{number(float(batch[1][wide]))}."
    )


def neighbours_in_words(moved: dict[str, float]) -> str:
    """What a second sentence in the batch does to the first one's outputs."""
    return (
        f"Let “{NEIGHBOUR}” join the batch: LayerNorm's numbers for this sentence move by {number(moved['layer'])}, "
        f"RMSNorm's by {number(moved['rms'])}, BatchNorm's by up to **{number(moved['batch'])}**. That is why an "
        "encoder of sentences takes LayerNorm or RMSNorm."
    )


main()
