"""LayerNorm: every token's mean and standard deviation at every norm, before and after; one norm in full detail."""

from __future__ import annotations

import streamlit as st

from encoder import figures, steps
from encoder.measure import norms
from encoder.steps.source import array
from pages.shared import cached, controls, formulas, token_rows
from pages.shared.components import plot
from pages.shared.frame import current_view
from pages.shared.view import state

view = current_view()
trace, config, labels = view.trace, view.loaded.config, view.trace.labels
statistics = cached.derived(view.model, view.text, view.pair, "norm statistics", norms.statistics)


def main() -> None:
    st.header("LayerNorm", anchor=False)
    where = (
        "after each sublayer's sum, x ← norm(x + f(x)): **post-norm**"
        if config.norm_placement == "post"
        else "before each sublayer, x ← x + f(norm(x)): **pre-norm**"
    )
    st.markdown(
        f"**{view.loaded.name}** has {len(statistics.names)} norms, {where}. Each takes the mean off a token's vector, "
        "divides it by its standard deviation, then scales and shifts every component by a learned gain and bias. "
        "Click a cell to choose a norm and a token."
    )
    name = chosen_norm()
    overview(name)
    in_detail(name, view.i if view.i is not None else min(1, trace.n_tokens - 1))
    gain_and_bias(name)
    three_norms(name)


def chosen_norm() -> str:
    """The norm that is looked at: a slider through the layers; the first norm where none is named."""
    names, at = statistics.names, state.get("at")
    if at and at not in names:
        st.warning(f"This model has no norm {controls.plain(at[:60])}. Shown: {figures.norm_label(names[0])}.")
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


def overview(name: str) -> None:
    """The maps of all norms, before and after."""
    part = token_rows.part(trace.n_tokens, view.i, "norms")
    scale = state.bound(
        st.segmented_control,
        "scale",
        "Colour of standard deviations",
        ["linear", "log"],
        required=True,
        help="Logarithmic colours show the small ones beside an outlier.",
    )
    moments = {"before": ("Before the norms", statistics.before), "after": ("After them", statistics.after)}
    for moment, (title, (mean, std)) in moments.items():
        st.subheader(title, anchor=False)
        figure = figures.norm_statistics(
            mean[:, part],
            std[:, part],
            statistics.names,
            labels,
            colours=view.colours,
            log=scale == "log",
            selected=(statistics.names.index(name), view.i),
            first=part.start,
        )
        plot(
            figure,
            key=f"norms-{moment}",
            alt=f"{title}: mean and standard deviation of each token's vector. One row a norm, one column a token.",
            height=token_rows.height(len(statistics.names), pitch=18, frame=150),
            on_event=select_cell,
        )
    st.caption(what_is_seen())


def what_is_seen() -> str:
    """Where the vectors are widest before a norm, in words."""
    norm, token = statistics.widest
    mean, std = (values[norm, token] for values in statistics.before)
    return (
        f"The widest vector before a norm is that of {controls.plain(labels[token])} (token {token}) at "
        f"{figures.norm_label(statistics.names[norm])}: standard deviation {std:.3g}, mean {mean:.3g}. After a norm "
        "each mean would be 0 and each standard deviation 1, but for gain and bias."
    )


def select_cell(event: dict) -> None:
    """A click on a cell selects its norm and its token, on a label either of them; Esc selects no token."""
    if event.get("event") != "click":
        return
    if event["axis"] == "clear":
        controls.select(None, None)
    if event["axis"] in ("cell", "y"):
        state.put("at", statistics.names[event["i"]])
    if event["axis"] in ("cell", "x"):
        state.put("i", event["j"])


def in_detail(name: str, token: int) -> None:
    """One token through one norm: numbers, formula, bars, table."""
    st.subheader(f"{controls.plain(labels[token])} (token {token}) at {figures.norm_label(name)}", anchor=False)
    component = chosen_component(name, token)
    step = steps.normalised(trace, name, token, component)
    numbers = {
        "Mean before": step.mean,
        "Standard deviation before": step.variance**0.5,
        "ε": step.eps,
        "Mean after": float(statistics.after[0][statistics.names.index(name), token]),
        "Standard deviation after": float(statistics.after[1][statistics.names.index(name), token]),
    }
    st.markdown(" · ".join(f"{what} **{value:.4g}**" for what, value in numbers.items()).replace("-", "−"))
    formulas.show_step(step.formula)
    plot(
        figures.norm_steps(step.input, step.normalised, step.output, selected=component),
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


def outlier_sentence(step: steps.Normalised) -> str:
    """Which components stand out before the norm."""
    found = [str(component) for component in figures.outliers(step.input)]
    if not found:
        return f"No component lies more than {figures.OUTLIER:g} standard deviations from the mean."
    return (
        f"More than {figures.OUTLIER:g} standard deviations from the mean: component{'s' * (len(found) > 1)} "
        f"{', '.join(found[:8])}{' …' * (len(found) > 8)}. Such outliers set the scale of all the others."
    )


def gain_and_bias(name: str) -> None:
    """The learned part of a norm."""
    norm = trace.norms[name]
    st.subheader(f"Gain and bias of {figures.norm_label(name)}", anchor=False)
    st.plotly_chart(
        figures.gain_bias(array(norm.gain), None if norm.bias is None else array(norm.bias)),
        height=320,
        key="gain-bias",
        alt=f"Gain{'' if norm.bias is None else ' and bias'} of {figures.norm_label(name)}, one bar a component.",
    )
    st.caption(
        "They are the same for every token. Gains are drawn from 1 and biases from 0: those change nothing. "
        "Components that stand out are numbered."
    )


def three_norms(name: str) -> None:
    """The same input through LayerNorm, RMSNorm and BatchNorm."""
    st.subheader("LayerNorm, RMSNorm, BatchNorm", anchor=False)
    st.markdown(
        "The same vectors through three norms, without gain and bias. **LayerNorm** looks at one token at a time and "
        "sets its mean to 0 and its standard deviation to 1. **RMSNorm** leaves the mean in. **BatchNorm** looks at "
        "one component across all tokens, so what becomes of a token depends on its neighbours."
    )
    compared = steps.compare_norms([trace], name)
    names = {"input": "before", "layer": "LayerNorm", "rms": "RMSNorm", "batch": "BatchNorm"}
    st.plotly_chart(
        figures.token_statistics(
            {title: compared.token_statistics(kind) for kind, title in names.items()}, compared.labels, selected=view.i
        ),
        height=420,
        key="three-norms",
        alt="Mean and standard deviation of each token's vector before and after LayerNorm, RMSNorm and BatchNorm.",
    )


main()
