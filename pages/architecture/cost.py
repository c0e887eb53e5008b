"""What the model costs on this sentence: formulas with numbers, where n² overtakes, and the time it really takes."""

from __future__ import annotations

import time

import streamlit as st

from encoder.errors import EncoderError
from encoder.explain import cost as costs
from encoder.explain import timing as timings_of
from encoder.figures.steps import cost_curves
from pages.architecture.diagram import short
from pages.core import cache, formulas
from pages.core.view import View

#: The longest text that is measured here: beyond it one layer alone takes seconds and its mask hundreds of megabytes.
LONGEST = 8_192
_RESULTS = "cost:measured"


def show(view: View) -> tuple[costs.Cost, int]:
    """The whole section. Returns the cost that it shows, and the bytes of a number."""
    config, n_tokens = view.loaded.config, view.trace.n_tokens
    each = costs.BYTES.get(str(view.loaded.encoder.dtype), 4)
    found = costs.cost(config, n_tokens, view.loaded.n_parameters, each)
    st.markdown(
        f"**{short(found.flops)}FLOP** for this sentence of n = {n_tokens} tokens, {config.n_layers} layers "
        f"together. The weights take **{short(found.weights)}B**, the residual stream of a trace "
        f"{short(found.stream)}B; all {config.n_layers * config.n_heads} attention maps, were they written out, "
        f"{short(found.maps)}B."
    )
    _parts(view, found, each)
    st.subheader("Where n² overtakes", anchor=False)
    _crossover(view)
    st.subheader("Measured on this machine", anchor=False)
    _measured(view)
    return found, each


def _parts(view: View, found: costs.Cost, each: int) -> None:
    """The table of one layer: formula, numbers, value; FLOPs and memory."""
    flops, memory = st.columns(2, gap="medium")
    with flops:
        st.markdown(
            "**FLOPs of one layer**\n\n| | formula | with numbers | |\n|:--|:--|:--|--:|\n"
            + "\n".join(
                f"| {part.title} | ${part.work.symbols}$ | ${part.work.numbers}$ | {short(part.flops)} |"
                for part in found.parts
            )
            + f"\n| **Together** | | | **{short(found.layer_flops)}** |"
        )
    with memory:
        st.markdown(
            "**Memory of what each part hands on, in bytes**\n\n| | formula | with numbers | |\n|:--|:--|:--|--:|\n"
            + "\n".join(
                f"| {part.title} | ${part.memory.symbols}$ | ${part.memory.numbers}$ | {short(part.bytes)} |"
                for part in found.parts
            )
        )
    st.caption(
        f"A multiplication with its addition counts as two FLOPs. A number takes {each} bytes here. The n × n maps"
        " are counted as if written out; the model's fused attention holds only a part of them at a time. "
        "Softmax, activation and norms are counted by a convention: 5, 1 to 8 and 7 FLOPs a number."
    )


def _crossover(view: View) -> None:
    config = view.loaded.config
    crossing = costs.crossover(config)
    left, right = st.columns([6, 5], gap="medium")
    lengths = timings_of.default_lengths(config, min(LONGEST, max(4 * int(crossing.n_tokens), 512)))
    lengths = tuple(sorted({min(view.trace.n_tokens, lengths[0]), *lengths, max(view.trace.n_tokens, lengths[-1])}))
    curves = costs.curve(config, lengths)
    with left:
        st.plotly_chart(
            cost_curves(
                lengths,
                {"grows with n": curves["linear"], "grows with n²": curves["quadratic"]},
                crossover=crossing.n_tokens,
                here=view.trace.n_tokens,
                axis="FLOPs of one layer",
                dashed=("grows with n", "grows with n²"),
            ),
            height=340,
            key="flops",
            alt="FLOPs of one layer over the number of tokens: two straight lines that cross.",
        )
    with right:
        st.markdown(
            "Queries, keys, values, W_O and the feed-forward layer treat each token on its own: their work grows "
            "with n. Scores and mixing compare every token with every other: theirs grows with n². Set equal:"
        )
        formulas.show(crossing.formula, crossing.numbers)
        st.markdown(
            f"Below {crossing.n_tokens:,.0f} tokens most of the work of this model is in its matrices; above, in "
            "attention."
        )


def _measured(view: View) -> None:
    config = view.loaded.config
    limit = min(LONGEST, int(1.5 * costs.crossover(config).n_tokens))
    lengths = timings_of.default_lengths(config, limit)
    st.markdown(
        f"One layer of this model is run on random vectors of {len(lengths)} lengths, {lengths[0]} to "
        f"{lengths[-1]:,} tokens, and its attention between tokens once more on its own. The dashed line is the "
        "formula: FLOPs divided by the speed at which this machine does each kind of work."
    )
    results: dict = st.session_state.setdefault(_RESULTS, {})
    place = (view.model, view.layer)
    with st.container(horizontal=True):
        wanted = st.button("Measure", icon=":material/timer:", type="primary", key="measure")
        st.button("Stop", icon=":material/stop:", key="stop", help="What is measured so far is kept.")
    chart = st.empty()
    if wanted:
        _measure(view, lengths, results, place, chart)
    elif results.get(place):
        _draw(view, results[place], chart)


def _measure(view: View, lengths: tuple[int, ...], results: dict, place: tuple, chart) -> None:
    """Run through the lengths, drawing as they come. Pressing anything ends the run between two lengths."""
    lock = cache.MEASURING
    if not lock.acquire(blocking=False):
        st.info("Somebody else is measuring on this machine; two at once would both be wrong. Try again in a moment.")
        return
    try:
        results[place] = []
        bar = st.progress(0.0, text="Measuring …")
        for timing in timings_of.time_layer(view.loaded.encoder, lengths, view.layer):
            results[place].append(timing)
            share = sum(lengths[: timing.done]) / sum(lengths)
            bar.progress(share, text=f"{timing.n_tokens:,} tokens: {timing.layer * 1e3:,.1f} ms a layer")
            _draw(view, results[place], chart)
            time.sleep(0)  # lets a press on Stop be seen
        bar.empty()
    except EncoderError as error:
        st.info(str(error))
    finally:
        lock.release()


def _draw(view: View, timings: list[timings_of.Timing], chart) -> None:
    fitted = timings_of.fit(view.loaded.config, timings)
    with chart.container():
        st.plotly_chart(
            cost_curves(
                [timing.n_tokens for timing in timings],
                {
                    "whole layer": [timing.layer * 1e3 for timing in timings],
                    "attention between tokens": [timing.between * 1e3 for timing in timings],
                    "the rest": [timing.rest * 1e3 for timing in timings],
                    "formula": fitted.seconds * 1e3,
                },
                crossover=fitted.crossover,
                axis="milliseconds",
                dashed=("formula",),
            ),
            height=380,
            key=f"times-{len(timings)}",
            alt="Measured milliseconds of one layer over the number of tokens, beside the formula.",
        )
        crossing = (
            f"Measured, attention overtakes at about {fitted.crossover:,.0f} tokens; counted in FLOPs at "
            f"{costs.crossover(view.loaded.config).n_tokens:,.0f}. "
            if fitted.crossover
            else ""
        )
        ratios = [timing.layer / said for timing, said in zip(timings, fitted.seconds, strict=True)]
        low, high = min(range(len(ratios)), key=ratios.__getitem__), max(range(len(ratios)), key=ratios.__getitem__)
        st.caption(
            f"{crossing}Speed of this machine: {fitted.linear / 1e9:,.1f} GFLOP/s in the matrices, "
            f"{fitted.quadratic / 1e9:,.1f} in attention. Measured over formula: from {ratios[low]:.2f} at "
            f"{timings[low].n_tokens:,} tokens to {ratios[high]:.2f} at {timings[high].n_tokens:,}. The formula counts "
            "operations; starting them, and bringing numbers from memory, takes time, too."
        )
