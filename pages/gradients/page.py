"""Gradients at initialisation: how large they are in each layer before any training, in both placements of the "
"norms."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from encoder.config import NORM_PLACEMENTS
from encoder.errors import EncoderError
from encoder.figures import gradients as drawn
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.train import gradients
from pages.core import cache
from pages.core.formulas import number
from pages.core.frame import heading
from pages.core.view import state
from pages.gradients.export import export_gradients
from pages.gradients.params import DEPTHS, MOST_HEADS, MOST_SEEDS, WIDTHS

SETTINGS = {"theory": "the theory's", "real": "a real encoder's"}


def main() -> None:
    heading()
    st.markdown(
        "Before the first step of training, one backward pass of a masked-word loss says how hard each layer would be "
        "pushed. Shown is the norm of the gradient of each layer's second FFN matrix, W_out. Post-norm's last "
        "layer gets a "
        "large one however deep the encoder is, and so needs a warm-up of the learning rate; pre-norm's shrinks "
        "with depth "
        "(Xiong et al. 2020)."
    )
    setting, depths, seeds = what_to_measure()
    if not depths:
        st.info("No depth is chosen. Choose at least one, two or more for a slope.")
        return
    if setting.d_model % setting.n_heads:
        st.warning(cannot_be_split(setting), icon=":material/edit:")
        return
    try:
        found = measured(setting, depths, seeds)
    except EncoderError as error:
        st.error(str(error), icon=":material/error:")
        return
    frame = gradients.to_frame(found)
    over_depth(frame, found, setting)
    in_one_depth(frame, setting, depths)
    about(setting)
    export_gradients(frame, setting, depths, seeds)


def what_to_measure() -> tuple[gradients.Setting, list[int], range]:
    """The setting, the depths and the seeds that the page's controls name."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = state.bound(
            st.segmented_control, "grad_setting", "Setting", list(SETTINGS), required=True, format_func=SETTINGS.get,
            help="The theory's: one head with uniform attention, an FFN as wide as the stream, ReLU. A real encoder's: "
            "attention as it is drawn at random, an FFN four times as wide, GELU, any number of heads.",
        )  # fmt: skip
        width = int(state.bound(st.segmented_control, "grad_width", "Width d", WIDTHS, required=True))
        seeds = state.bound(st.number_input, "grad_seeds", "Seeds", min_value=1, max_value=MOST_SEEDS, width=110)
        heads = 1
        if kind == "real":
            heads = state.bound(st.number_input, "grad_heads", "Heads", min_value=1, max_value=MOST_HEADS, width=110)
    depths = state.bound(st.segmented_control, "grad_depths", "Depths L", list(DEPTHS), selection_mode="multi")
    own = {} if kind == "theory" else {
        "n_heads": heads, "d_ffn": 4 * width, "activation": "gelu", "uniform_attention": False
    }  # fmt: skip
    return gradients.Setting(d_model=width, **own), sorted(depths), range(seeds)


def cannot_be_split(setting: gradients.Setting) -> str:
    """Why so many heads cannot be measured, in the words of the controls."""
    fitting = [str(heads) for heads in range(1, MOST_HEADS + 1) if setting.d_model % heads == 0]
    return (
        f"Width {setting.d_model} cannot be split among {setting.n_heads} heads. "
        f"Choose {', '.join(fitting[:-1])} or {fitting[-1]} heads."
    )


def measured(setting: gradients.Setting, depths: list[int], seeds: range) -> list[gradients.Measurement]:
    """Every depth, seed and placement, the cheapest first, with progress; each is kept, so nothing is measured
    twice."""
    total, found = gradients.count(depths, seeds), []
    bar = st.progress(0.0, "Measuring …")
    for depth in depths:
        for seed in seeds:
            for placement in NORM_PLACEMENTS:
                bar.progress(
                    len(found) / total, f"{PLACEMENT_NAMES[placement]}, {depth} layers, seed {seed}: "
                    f"{len(found)} of {total} backward passes done",
                )  # fmt: skip
                found.append(one(depth, placement, seed, setting))
    bar.empty()
    return found


def one(depth: int, placement: str, seed: int, setting: gradients.Setting) -> gradients.Measurement:
    return cache.computed(
        ("gradients", depth, placement, seed, setting), lambda: gradients.measure(depth, placement, seed, setting),
        heavy=True,
    )  # fmt: skip


def over_depth(frame: pd.DataFrame, found: list[gradients.Measurement], setting: gradients.Setting) -> None:
    """The last layer's gradient over depth, the fitted slopes, and the theorem's lines."""
    depths = sorted(set(frame.depth))
    last = frame[frame.layer == frame.depth - 1]
    theory = {}
    if setting.is_theory and len(depths) > 1:
        for placement in NORM_PLACEMENTS:
            rows = last[(last.placement == placement) & (last.depth == depths[0])]
            through = float(rows.gradient_norm.mean())
            theory[placement] = (depths, gradients.theorem_line(depths, placement, setting.d_model, through))
    st.subheader("The last layer, by depth", anchor=False)
    st.plotly_chart(
        drawn.last_layer_gradients(frame, theory), key="gradients-depth", height=380, config={"displaylogo": False},
        alt="Gradient norm of the last layer over the number of layers, both logarithmic, a line for each placement.",
    )  # fmt: skip
    st.caption(slopes(found, setting))


def slopes(found: list[gradients.Measurement], setting: gradients.Setting) -> str:
    """The fitted slopes in words."""
    fits = {placement: gradients.fit_slope(found, placement) for placement in NORM_PLACEMENTS}
    if not all(fits.values()):
        return "Choose a second depth for a slope."
    said = "; ".join(
        f"{PLACEMENT_NAMES[p]} {power(fit.slope)} (theory {power(gradients.theorem_exponent(p))})"
        for p, fit in fits.items()
    )
    lines = (
        "The dotted lines are Theorem 1's, O(d √(ln d / L)) for pre-norm and O(d √(ln d)) for post-norm, with their "
        "constant chosen so that they begin where the measurement does."
        if setting.is_theory
        else "The theorem is about another setting than this one; its exponents stand there for comparison."
    )
    return f"Fitted over all depths as a power of the number of layers: {said}. {lines}"


def power(exponent: float) -> str:
    """Lᵃ as a person writes it, to two decimals."""
    return f"L^({exponent:+.2f})".replace("-", "−")


def in_one_depth(frame: pd.DataFrame, setting: gradients.Setting, depths: list[int]) -> None:
    """Every layer of the encoders of one depth: gradients, and the stream's squared norm."""
    asked = state.get("grad_depth")
    depth = int(asked) if asked and int(asked) in depths else depths[-1]
    if len(depths) > 1:
        st.session_state["gradients-one-depth"] = depth
        depth = st.segmented_control(
            "Layer by layer, in an encoder of so many layers", depths, key="gradients-one-depth", required=True,
            on_change=take_depth,
        )  # fmt: skip
    rows = frame[frame.depth == depth]
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader(f"Every layer of {depth}", anchor=False)
        st.plotly_chart(
            drawn.layer_gradients(rows), key="gradients-layers", height=320, config={"displaylogo": False},
            alt=f"Gradient norm of each of {depth} layers on a logarithmic axis, a line for each placement.",
        )  # fmt: skip
        st.caption(first_and_last(rows, depth))
    with right:
        st.subheader("Squared norm of the stream", anchor=False)
        st.plotly_chart(
            drawn.squared_norms(rows, bounds=setting.is_theory), key="gradients-norms", height=320,
            config={"displaylogo": False},
            alt="Squared norm over d of the residual stream after each layer, with the lemma's bounds.",
        )  # fmt: skip
        st.caption(how_long(rows, setting))


def take_depth() -> None:
    state.put("grad_depth", str(st.session_state["gradients-one-depth"]))


def first_and_last(rows: pd.DataFrame, depth: int) -> str:
    means = rows.groupby(["placement", "layer"]).gradient_norm.mean()
    said = []
    for placement in NORM_PLACEMENTS:
        ends = float(means[placement, 0]), float(means[placement, depth - 1])
        said.append(
            f"{PLACEMENT_NAMES[placement]}: {number(ends[0])} in L0 and {number(ends[1])} in L{depth - 1}, "
            f"{number(ends[1] / ends[0], 2)} times"
        )
    return "Means over the seeds. From the first to the last layer, " + "; ".join(said) + "."


def how_long(rows: pd.DataFrame, setting: gradients.Setting) -> str:
    """The squared norms against the lemma, in words. The lemma is about expectations: means over the seeds count."""
    means = rows.groupby(["placement", "layer"])[["squared_norm", "lower", "upper"]].mean()
    post, pre = means.loc["post"], means.loc["pre"]
    said = (
        f"Post-norm, before each layer's last norm: {post.squared_norm.min():.2f} to {post.squared_norm.max():.2f}. "
        f"Pre-norm: {pre.squared_norm.iloc[0]:.2f} after the first layer, {pre.squared_norm.iloc[-1]:.2f} after "
        "the last. "
    )
    if not setting.is_theory:
        return said + "Lemma 2 is about the theory's setting."
    inside = int(pre.squared_norm.between(pre.lower, pre.upper).sum())
    return said + (
        f"Lemma 2 says 3/2 for post-norm, and between 1 + l/2 and 1 + 3l/2 after l layers of pre-norm: {inside} of "
        f"{len(pre)} layers lie there."
    )


def about(setting: gradients.Setting) -> None:
    with st.expander("What is measured", icon=":material/help:"):
        st.markdown(
            f"An encoder of width {setting.d_model} with Xavier weights reads {setting.n_rows} rows of "
            f"{setting.n_tokens} "
            f"random tokens, {gradients.MASK_SHARE:.0%} of them hidden; the loss is the mean cross-entropy of the "
            "hidden "
            "ones. Both placements have the same weights and tokens for the same seed. The theory's setting is that of "
            "Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*, sections 3.2 and 3.3, "
            "with one "
            "difference: our attention has W_O after W_V, as real encoders do. The benchmark `python -m "
            "benchmarks.gradients` measures it in full, at width 256 and up to 24 layers; its figures stand in "
            "the README."
        )


main()
