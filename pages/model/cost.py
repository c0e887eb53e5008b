"""The cost of a forward pass: formulas with numbers, and the crossover of n and n²."""

from collections.abc import Callable, Sequence

import streamlit as st

from encoder.documents import tables
from encoder.explain.cost import Cost, CostPart, Term, cost, crossover
from pages.core.inputs.input_words import words_of
from pages.core.view.view import View
from pages.core.widgets import adjust
from pages.core.widgets.export import Export
from pages.core.words import about, formulas
from pages.model.params import MOST_TOKENS, Params
from pages.state.url_state import state


def answer(view: View, bytes_each: int) -> Cost:
    """The line that says what one forward pass needs, and the control of its length. Returns the cost."""
    with adjust.drawer("cost", "Tokens"):
        n_tokens = _length(view)
    config = view.loaded.config
    found = cost(config, n_tokens, view.loaded.n_parameters, bytes_each)
    layers = "1 layer" if config.n_layers == 1 else f"{config.n_layers} layers"
    kinds = (
        f", of which {found.n_plain} without experts do {short(found.plain_flops)}FLOP each" if found.n_plain else ""
    )
    st.markdown(
        f"One pass of n = {n_tokens:,} tokens through {layers} needs **{short(found.flops)}FLOP** of work{kinds}, and "
        f"memory for **{short(found.weights)}B** of weights: {short(view.loaded.n_parameters)} parameters."
    )
    return found


def show(view: View, found: Cost, bytes_each: int) -> None:
    """Work and memory of each part of a layer, and from which length attention costs more."""
    config = view.loaded.config
    flops, memory = st.columns(2, gap="medium")
    with flops:
        title = f"FLOPs of one layer{' with experts' if found.n_plain else ''}"
        rest = found.flops - config.n_layers * found.layer_flops
        outside = f" + {short(rest)} outside them" if rest else ""
        of_all = "" if found.n_plain else f"× {config.n_layers} layers{outside}: {short(found.flops)}"
        _table(title, found.parts, lambda part: part.work, (of_all, f"**{short(found.layer_flops)}**"))
    with memory, st.container(key="model-cost-bytes"):
        _table("Bytes of each output", found.parts, lambda part: part.memory)
    st.markdown(
        f"Residual stream of a trace: {short(found.stream)}B. All {config.n_layers * config.n_heads} attention maps, "
        f"if written out: {short(found.maps)}B."
    )
    st.caption(about.text(__file__, "How work and memory are counted", bytes_each=bytes_each))
    st.header("Length from which attention costs more", anchor=False)
    _crossover(view)


def _length(view: View) -> int:
    """The number of tokens whose cost is shown: that of the input, until a reader or a lesson chooses another."""
    own = view.trace.n_tokens
    chosen: int | None = state.bound(
        st.number_input,
        Params.cost_tokens,
        f"Tokens, n. This {words_of(view.trace).input} has {own:,}.",
        value=None,
        min_value=1,
        max_value=MOST_TOKENS,
        placeholder=f"{own:,}",
        width=320,
    )
    return own if chosen is None else chosen


def _table(
    title: str, parts: Sequence[CostPart], term_of: Callable[[CostPart], Term], total: tuple[str, str] | None = None
) -> None:
    """One row per part of a layer: formula, numbers, value. total: the last two cells of the row of the sum."""
    lines = [f"**{title}**", "", "| part | formula | with numbers | result |", "|:--|:--|:--|--:|"]
    for part in parts:
        term = term_of(part)
        lines.append(f"| {part.title} | ${term.symbols}$ | ${term.numbers}$ | {short(term.value)} |")
    if total:
        lines.append(f"| **Together** | | {total[0]} | {total[1]} |")
    st.markdown("\n".join(lines))


def _crossover(view: View) -> None:
    crossing = crossover(view.loaded.config)
    st.markdown(
        "Queries, keys, values, W_O and the feed-forward layer process each token on its own, so their work grows "
        "with n. Scores and weighted sums pair every token with every other, so their work grows with n². Both are "
        f"equal at n = **{crossing.n_tokens:,.0f}** tokens:"
    )
    formulas.show(crossing.formula, crossing.numbers)


def export(view: View, found: Cost, bytes_each: int) -> None:
    """FLOPs and bytes of each part of a layer."""
    Export(
        view,
        f"Cost of {view.loaded.name}",
        lambda: tables.cost_frame(found),
        lines="from encoder.export import tables\nfrom encoder.explain import cost\n"
        f"found = cost.cost(model.config, {found.n_tokens}, model.n_parameters, {bytes_each})\n"
        "table = tables.cost_frame(found)",
    ).draw()


def short(number: int) -> str:
    """1234567 -> "1.23 M", without a line break."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}\u00a0{unit}"
    return f"{number}\u00a0"
