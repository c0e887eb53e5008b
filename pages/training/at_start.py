"""Gradients at initialisation: the gradient norm of each layer before any training, in both norm placements."""

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.figures import gradients as drawn
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.model.config import NORM_PLACEMENTS
from encoder.train import gradients
from pages.components import plot
from pages.core.stores import cache
from pages.core.widgets import Export, adjust, arguments
from pages.core.words import about, errors_said, number, opening
from pages.state import controlled, state
from pages.training.params import DEPTHS, GRADIENT_WIDTHS, MOST_HEADS, MOST_SEEDS, GradientParams

SETTINGS = {"theory": "As in the theory", "real": "As in real encoders"}


def show() -> None:
    """The page with this part."""
    opening(about.text(__file__, "Gradients at initialisation"))
    answer = st.container(key="gradients-answer")
    with adjust.drawer("gradients"):
        controls()
    params = state.read(GradientParams)
    setting = chosen_setting(params)
    if not params.depths:
        st.info("No depth is chosen: choose at least one, or two for a slope.")
    elif setting.d_model % setting.n_heads:
        st.warning(heads_that_fit(setting), icon=":material/edit:")
    else:
        with errors_said():
            results(setting, sorted(params.depths), range(params.seeds), answer)
    about.expander(
        __file__,
        "What is measured, and what it does not show",
        ":material/help:",
        width=setting.d_model,
        rows=setting.n_rows,
        tokens=setting.n_tokens,
        share=f"{gradients.MASK_SHARE:.0%}",
    )


def controls() -> None:
    """What to measure."""
    kind = state.segmented(
        GradientParams.setting,
        "Setting",
        SETTINGS,
        help="As in the theory: one head with uniform attention, an FFN as wide as the residual stream, ReLU. "
        "As in real encoders: random attention weights, an FFN four times as wide, GELU, any number of heads.",
    )
    state.segmented(GradientParams.width, "Width d", GRADIENT_WIDTHS)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.bound(st.number_input, GradientParams.seeds, "Seeds", min_value=1, max_value=MOST_SEEDS, width=110)
        if kind == "real":
            state.bound(st.number_input, GradientParams.heads, "Heads", min_value=1, max_value=MOST_HEADS, width=110)
    state.bound(st.segmented_control, GradientParams.depths, "Depths L", list(DEPTHS), selection_mode="multi")


def chosen_setting(params: GradientParams) -> gradients.Setting:
    """The encoders that the controls describe."""
    width = int(params.width)
    if params.setting == "theory":
        return gradients.Setting(d_model=width)
    return gradients.Setting(
        d_model=width, n_heads=params.heads, d_ffn=4 * width, activation="gelu", uniform_attention=False
    )


def heads_that_fit(setting: gradients.Setting) -> str:
    """The remedy for a width that the heads cannot share."""
    fitting = [str(heads) for heads in range(1, MOST_HEADS + 1) if setting.d_model % heads == 0]
    return (
        f"Width {setting.d_model} cannot be split among {setting.n_heads} heads: "
        f"choose {', '.join(fitting[:-1])} or {fitting[-1]} heads."
    )


def results(setting: gradients.Setting, depths: list[int], seeds: range, answer: DeltaGenerator) -> None:
    """Measure, then draw the charts and offer the export. answer: the place of the first line."""
    measurements = measured(setting, depths, seeds)
    frame = gradients.to_frame(measurements)
    left, right = st.columns(2, gap="medium")
    with left:
        place = st.container()  # its chart has controls below it that decide what the first line is about
        depth = choose_depth(depths)
    answer.markdown(answer_in_words(frame, depth))
    with place:
        by_layer(frame, depth)
    with right, st.container(key="beyond-wall-gradients"):
        over_depth(frame, measurements, setting)
    Export(
        None,
        "Gradients at initialisation",
        lambda: frame,
        figures=lambda: {"The last layer's gradient over depth": drawn.last_layer_gradients(frame, {})},
        program="from encoder.train import gradients\n"
        f"found = gradients.measure_all({depths}, {seeds!r}, gradients.Setting({arguments(setting)}))\n"
        "table = gradients.to_frame(found)\n"
        f"deepest = table[table.depth == {depths[-1]}].groupby(['placement', 'layer']).gradient_norm.mean()\n"
        "slopes = {one: gradients.fit_slope(found, one) for one in ('pre', 'post')}\n",
        settings={"Width": setting.d_model, "Heads": setting.n_heads, "Depths": depths, "Seeds": len(seeds)},
    ).draw()


def answer_in_words(frame: pd.DataFrame, depth: int) -> str:
    """The gradients of W_out in the first and the last layer of the encoders of one depth, in both placements."""
    means = frame[frame.depth == depth].groupby(["placement", "layer"]).gradient_norm.mean()
    said = ", ".join(
        f"{PLACEMENT_NAMES[one]} **{number(float(means[one, 0]))} → {number(float(means[one, depth - 1]))}**"
        for one in reversed(NORM_PLACEMENTS)
    )
    return (
        f"Norm of the gradient of each layer’s W_out, the second FFN matrix, L0 → L{depth - 1}: {said} "
        "(mean over the seeds)."
    )


def measured(setting: gradients.Setting, depths: list[int], seeds: range) -> list[gradients.Measurement]:
    """Every depth, seed and placement, the cheapest first, with progress. Each measurement is cached."""
    cases = gradients.cases(depths, seeds)
    found = []
    bar = st.progress(0.0, "Measuring …")
    for done, (depth, placement, seed) in enumerate(cases):
        what = f"{PLACEMENT_NAMES[placement]}, {depth} layers, seed {seed}"
        bar.progress(done / len(cases), f"{what}: {done} of {len(cases)} backward passes done")
        run = (depth, placement, seed, setting)
        found.append(cache.computed(("gradients", *run), lambda run=run: gradients.measure(*run), heavy=True))
    bar.empty()
    return found


def over_depth(frame: pd.DataFrame, measurements: list[gradients.Measurement], setting: gradients.Setting) -> None:
    """The last layer's gradient over depth, with the fitted slopes and the lines of Theorem 1."""
    depths = sorted(set(frame.depth))
    last = frame[frame.layer == frame.depth - 1]
    theory = {}
    if setting.is_theory and len(depths) > 1:
        for placement in NORM_PLACEMENTS:
            rows = last[(last.placement == placement) & (last.depth == depths[0])]
            through = float(rows.gradient_norm.mean())
            theory[placement] = (depths, gradients.theorem_line(depths, placement, setting.d_model, through))
    st.header("The last layer, by depth", anchor=False)
    plot(
        drawn.last_layer_gradients(frame, theory),
        key="gradients-depth",
        height=340,
        alt="Gradient norm of the last layer over the number of layers, both logarithmic, a line for each placement.",
    )
    st.caption(slopes(measurements, setting))


def slopes(measurements: list[gradients.Measurement], setting: gradients.Setting) -> str:
    """The fitted slopes next to the exponents of the theory."""
    fitted_slopes = {placement: gradients.fit_slope(measurements, placement) for placement in NORM_PLACEMENTS}
    if None in fitted_slopes.values():
        return "Choose a second depth for a slope."
    bounds = {placement: number(gradients.theorem_exponent(placement), 2) for placement in NORM_PLACEMENTS}
    fitted = "; ".join(
        f"{PLACEMENT_NAMES[p]} {number(slope, 2)} (bound {bounds[p]})" for p, slope in fitted_slopes.items()
    )
    if setting.is_theory:
        lines = (
            "Dotted: the upper bounds of Theorem 1, O(d √(ln d / L)) for pre-norm and O(d √(ln d)) for post-norm. "
            "Their constants are unknown; each line starts where the measurement starts."
        )
    else:
        lines = "Theorem 1 is about the other setting; its exponents are here for comparison."
    return f"Fitted exponent of the number of layers L: {fitted}. {lines}"


def choose_depth(depths: list[int]) -> int:
    """The depth whose layers are drawn, the deepest one until a reader chooses."""
    asked = state.get(GradientParams.depth)
    depth = int(asked) if asked and int(asked) in depths else depths[-1]
    if len(depths) > 1:
        depth = controlled(
            st.segmented_control,
            "Layers of the encoder above",
            depths,
            key="gradients-one-depth",
            value=depth,
            take=lambda chosen: state.put(GradientParams.depth, str(chosen)),
            required=True,
        )
    return depth


def by_layer(frame: pd.DataFrame, depth: int) -> None:
    """The gradients in every layer of the encoders of one depth."""
    rows = frame[frame.depth == depth]
    st.header(f"Gradients in all {depth} layers", anchor=False)
    plot(
        drawn.layer_gradients(rows),
        key="gradients-layers",
        height=340,
        alt=f"Gradient norm of each of {depth} layers on a logarithmic axis, a line for each placement.",
    )
    st.caption(first_and_last(rows, depth))


def first_and_last(rows: pd.DataFrame, depth: int) -> str:
    """The gradients of the first and the last layer, and their ratio."""
    means = rows.groupby(["placement", "layer"]).gradient_norm.mean()
    ends = []
    for placement in NORM_PLACEMENTS:
        first, last = float(means[placement, 0]), float(means[placement, depth - 1])
        ends.append(
            f"{PLACEMENT_NAMES[placement]}: L0 {number(first)}, L{depth - 1} {number(last)}, ratio "
            f"{number(last / first, 2)}"
        )
    return f"Means over the seeds. {'; '.join(ends)}."
