"""The cost of a forward pass: formulas with numbers, the crossover of n and n², and measured times."""

import time
from collections.abc import Callable, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder.errors import EncoderError
from encoder.explain import timing
from encoder.explain.cost import Cost, CostPart, Term, cost, crossover, curve
from encoder.explain.timing import Timing
from encoder.export import tables
from encoder.figures.cost import cost_curves
from pages.components import plot
from pages.core.inputs.input_words import words_of
from pages.core.stores import cache
from pages.core.view.view import View
from pages.core.widgets.export import Export
from pages.core.words import about, formulas
from pages.core.words.markdown import say_error

#: The longest measured text: beyond it one layer takes seconds, and its mask hundreds of megabytes.
LONGEST = 8_192
_RESULTS = "cost:measured"


def show(view: View, bytes_each: int) -> Cost:
    """Work and memory of each part of a layer. Returns the cost."""
    config, n_tokens = view.loaded.config, view.trace.n_tokens
    found = cost(config, n_tokens, view.loaded.n_parameters, bytes_each)
    st.markdown(
        f"Work for this {words_of(view.trace).input}, n = {n_tokens} tokens: **{short(found.flops)}FLOP** in "
        f"{config.n_layers} layers. "
        f"Weights: **{short(found.weights)}B**. Residual stream of a trace: {short(found.stream)}B. "
        f"All {config.n_layers * config.n_heads} attention maps, if written out: {short(found.maps)}B."
    )
    flops, memory = st.columns(2, gap="medium")
    with flops:
        _table("FLOPs of one layer", found.parts, lambda part: part.work, f"**{short(found.layer_flops)}**")
    with memory:
        _table("Bytes of each output", found.parts, lambda part: part.memory)
    st.caption(about.text(__file__, "How work and memory are counted", bytes_each=bytes_each))
    st.header("Length from which attention costs more", anchor=False)
    _crossover(view)
    st.header("Measured on this machine", anchor=False)
    _measured(view)
    return found


def _table(title: str, parts: Sequence[CostPart], term_of: Callable[[CostPart], Term], total: str = "") -> None:
    """One row per part of a layer: formula, numbers, value."""
    lines = [f"**{title}**", "", "| part | formula | with numbers | result |", "|:--|:--|:--|--:|"]
    for part in parts:
        term = term_of(part)
        lines.append(f"| {part.title} | ${term.symbols}$ | ${term.numbers}$ | {short(term.value)} |")
    if total:
        lines.append(f"| **Together** | | | {total} |")
    st.markdown("\n".join(lines))


def _crossover(view: View) -> None:
    config, here = view.loaded.config, view.trace.n_tokens
    crossing = crossover(config)
    lengths = timing.default_lengths(config, min(LONGEST, max(4 * int(crossing.n_tokens), 512)))
    lengths = tuple(sorted({min(here, lengths[0]), *lengths, max(here, lengths[-1])}))
    curves = curve(config, lengths)
    left, right = st.columns([6, 5], gap="medium")
    with left:
        plot(
            cost_curves(
                lengths,
                {"grows with n": curves["linear"], "grows with n²": curves["quadratic"]},
                crossover=crossing.n_tokens,
                here=here,
                axis="FLOPs of one layer",
                dashed=("grows with n", "grows with n²"),
            ),
            height=340,
            key="flops",
            alt="FLOPs of one layer over the number of tokens: two straight lines that cross.",
        )
    with right:
        st.markdown(
            "Queries, keys, values, W_O and the feed-forward layer process each token on its own, so their work grows "
            "with n. Scores and weighted sums pair every token with every other, so their work grows with n². Both are "
            f"equal at n = **{crossing.n_tokens:,.0f}** tokens:"
        )
        formulas.show(crossing.formula, crossing.numbers)


def _measured(view: View) -> None:
    config = view.loaded.config
    lengths = timing.default_lengths(config, min(LONGEST, int(1.5 * crossover(config).n_tokens)))
    st.markdown(
        f"This measures one layer with random vectors at {len(lengths)} lengths, {lengths[0]} to {lengths[-1]:,} "
        "tokens. It also measures its attention between tokens only. The dashed line is the formula: FLOPs divided by "
        "the speed of this machine for each kind of work."
    )
    results: dict[object, list[Timing]] = st.session_state.setdefault(_RESULTS, {})
    place = (view.model, view.layer)
    with st.container(horizontal=True):
        wanted = st.button("Measure", icon=":material/timer:", type="primary", key="measure")
        st.button("Stop", icon=":material/stop:", key="stop", help="Keeps the lengths measured so far.")
    chart = st.empty()
    if wanted:
        results[place] = []
        _measure(view, lengths, results[place], chart)
    elif results.get(place):
        _draw(view, results[place], chart)


def _measure(view: View, lengths: Sequence[int], timings: list[Timing], chart: DeltaGenerator) -> None:
    """Measure each length and draw it. Any click stops the run after the current length."""
    if not cache.MEASURING.acquire(blocking=False):
        st.info("Another measurement is running on this machine, and two at once disturb each other. Try again soon.")
        return
    try:
        bar = st.progress(0.0, text="Measuring …")
        for one in timing.time_layer(view.loaded.encoder, lengths, view.layer):
            timings.append(one)
            share = sum(lengths[: one.done]) / sum(lengths)
            bar.progress(share, text=f"{one.n_tokens:,} tokens: {one.layer * 1e3:,.1f} ms per layer")
            _draw(view, timings, chart)
            time.sleep(0)  # lets Streamlit handle a click on Stop
        bar.empty()
    except EncoderError as error:
        say_error(error, st.info, icon=None)
    finally:
        cache.MEASURING.release()


def _draw(view: View, measured: list[Timing], chart: DeltaGenerator) -> None:
    timings = list(measured)  # after Stop, the run before may still add the length that it was measuring
    fitted = timing.fit(view.loaded.config, timings)
    with chart.container():
        plot(
            cost_curves(
                [one.n_tokens for one in timings],
                {
                    "whole layer": [one.layer * 1e3 for one in timings],
                    "attention between tokens": [one.between * 1e3 for one in timings],
                    "the rest": [one.rest * 1e3 for one in timings],
                    "formula": fitted.seconds * 1e3,
                },
                crossover=fitted.crossover,
                axis="milliseconds",
                dashed=("formula",),
            ),
            height=380,
            key=f"times-{len(timings)}",
            alt="Measured milliseconds of one layer over the number of tokens, next to the formula.",
        )
        crossing = ""
        if fitted.crossover:
            crossing = (
                f"Attention takes longer than the rest from about {fitted.crossover:,.0f} tokens; by FLOPs, from "
                f"{crossover(view.loaded.config).n_tokens:,.0f}. "
            )
        ratios = [one.layer / seconds for one, seconds in zip(timings, fitted.seconds, strict=True)]
        low, high = ratios.index(min(ratios)), ratios.index(max(ratios))
        st.caption(
            f"{crossing}Speed: {fitted.linear / 1e9:,.1f} GFLOP/s in the matrices, {fitted.quadratic / 1e9:,.1f} "
            f"GFLOP/s in attention. Measured time over formula: {ratios[low]:.2f} at {timings[low].n_tokens:,} tokens "
            f"to {ratios[high]:.2f} at {timings[high].n_tokens:,}. The formula counts operations only; starting them "
            "and moving numbers from memory also takes time."
        )


def export(view: View, found: Cost, bytes_each: int) -> None:
    """FLOPs and bytes of each part of a layer."""
    Export(
        view,
        f"Cost of {view.loaded.name}",
        lambda: tables.cost_frame(found),
        lines="from encoder.export import tables\nfrom encoder.explain import cost\n"
        f"found = cost.cost(model.config, trace.n_tokens, model.n_parameters, {bytes_each})\n"
        "table = tables.cost_frame(found)",
    ).draw()


def short(number: int) -> str:
    """1234567 -> "1.23 M", without a line break."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}\u00a0{unit}"
    return f"{number}\u00a0"
