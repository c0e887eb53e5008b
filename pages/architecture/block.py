"""The open block with its tensor, and the table of all blocks."""

import plotly.graph_objects as go
import streamlit as st

from encoder import explain, figures
from encoder.explain.architecture import Architecture, ArchitectureBlock
from encoder.figures.architecture import shape_text
from encoder.figures.steps import score_map, stacked_rows, usual_limit
from pages.architecture.units import percent, shape_words, short
from pages.components import plot
from pages.core.frame import sidebar
from pages.core.view import selection, token_rows
from pages.core.view.selection import PlaceParams
from pages.core.view.view import View, ViewParams, state
from pages.core.words import gestures
from pages.state import links

#: Tokens of a long text that are drawn around the selected one.
DRAWN_TOKENS = 128
_KINDS = {"q": "q", "k": "k", "v": "v", "mixing": "v"}


def show(view: View, block: ArchitectureBlock, token: int) -> None:
    """Shapes, counts, the tensor, and a button to the step that explains the block."""
    where = "" if block.layer is None else f" in layer {block.layer}"
    st.header(f"{block.title}{where}", anchor=False)
    facts = [f"In: {shape_words(block.inputs)}.", f"Out: {shape_words(block.outputs)}."]
    if block.detail:
        facts.insert(0, sidebar.plain(f"{block.detail[:1].upper()}{block.detail[1:]}."))
    if block.shared_with is not None:
        facts.append(f"Shares the weights of layer {block.shared_with}, which are counted there.")
    st.markdown(" ".join(facts))
    with st.container(horizontal=True, gap="large"):
        share = f"{percent(block.share)} of all" if block.parameters else None
        st.metric("Parameters", f"{block.parameters:,}", share, delta_color="off", delta_arrow="off", width="content")
        st.metric("FLOPs", short(block.flops), help=f"{block.flops:,} for this input.", width="content")
        memory = f"Output of the block for this input: {block.memory:,} bytes."
        st.metric("Memory", f"{short(block.memory)}B", help=memory, width="content")
    if block.opens is not None:
        _tensor(view, block, block.opens, token)
    if block.step is not None and view.trace.kind == "text":  # “Forward pass” takes no other input
        values = step_values(block, token)
        links.button("forward_pass", "Explain it number by number", "calculate", "explain", values, type="primary")


def sentence(block: ArchitectureBlock) -> str:
    """The open block in one sentence."""
    where = "" if block.layer is None else f" in layer {block.layer}"
    return (
        f"**{block.title}**{where}: {shape_words(block.inputs)} to {shape_words(block.outputs)}. Parameters: "
        f"{block.parameters:,}. FLOPs: {short(block.flops)}."
    )


def step_values(block: ArchitectureBlock, token: int) -> dict[str, object]:
    """Values for the page “Forward pass, step by step”, by their names in the address."""
    values: dict[str, object] = {"step": block.step, "j" if block.kind in ("k", "v") else "i": token}
    if block.step == "qkv":
        values["vector"] = block.kind
    if block.step == "norm" and block.group in ("attention", "ffn"):
        values["part"] = block.group
    return values


def _tensor(view: View, block: ArchitectureBlock, name: str, token: int) -> None:
    """The block's numbers as a map, one row per token, the selected one framed."""
    n_tokens = view.trace.n_tokens
    start = min(max(0, token - DRAWN_TOKENS // 2), max(0, n_tokens - DRAWN_TOKENS))
    rows = slice(start, min(start + DRAWN_TOKENS, n_tokens))
    count = rows.stop - rows.start
    opened = explain.tensor(view.trace, name, view.head, rows, state.get(PlaceParams.pooling))
    title = block.title if opened.head is None else f"{block.title}, head {opened.head}"
    height = token_rows.height(count, pitch=18, most=430)
    if name == "pooled":
        height = selection.rows_height(1)
    elif opened.columns == "keys":
        height = selection.map_height(count, most=450)
    plot(
        _figure(view, block, opened, rows, token, title),
        key=f"tensor-{block.kind}",
        alt=f"{title}: one row per token.",
        height=height,
        on_event=selection.on_cell(row=ViewParams.i),
    )
    if name != "pooled":
        part = "" if count == n_tokens else f" Drawn: {count} tokens around it."
        gestures.caption(
            f"One row per token. Framed: {selection.token(view, token)}. "
            f"{gestures.CLICK} a row to select its token.{part}"
        )


def _figure(
    view: View, block: ArchitectureBlock, opened: explain.Opened, rows: slice, token: int, title: str
) -> go.Figure:
    labels = view.trace.labels
    if opened.name == "pooled":
        return stacked_rows({"pooled": opened.values[0]})
    if block.kind == "softmax":
        return figures.attention_heatmap(
            opened.values[:, rows], labels, title=title, colours=view.colours, selected=(token, None),
            row_offset=rows.start, column_offset=rows.start,
        )  # fmt: skip
    if opened.allowed is not None:
        return score_map(
            opened.values[:, rows], opened.allowed[:, rows], labels, selected=(token, None),
            first=(rows.start, rows.start),
        )  # fmt: skip
    return figures.vectors_heatmap(
        opened.values, labels, _KINDS.get(block.kind, "residual"), title=title, selected=token, first=rows.start,
        limit=usual_limit(opened.values), component_name="neuron" if block.kind == "ffn" else "component",
    )  # fmt: skip


def table(drawn: Architecture) -> None:
    """Every block with its numbers, and their sums."""
    blocks = drawn.blocks
    st.markdown(
        f"**All {len(blocks)} blocks.** Parameters: {drawn.n_parameters:,}. FLOPs for {drawn.n_tokens} tokens: "
        f"{sum(block.flops for block in blocks):,}."
    )
    st.dataframe(
        {
            "Block": [block.title for block in blocks],
            "Layer": ["" if block.layer is None else str(block.layer) for block in blocks],
            "Out": [shape_text(block.outputs) for block in blocks],
            "Parameters": [block.parameters for block in blocks],
            "Share": [block.share for block in blocks],
            "FLOPs": [block.flops for block in blocks],
            "Bytes out": [block.memory for block in blocks],
        },
        hide_index=True,
        width="stretch",
        height=360,
        column_config={
            "Block": st.column_config.TextColumn(width=150),
            "Layer": st.column_config.TextColumn(width=50),
            "Share": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
        }
        | {name: st.column_config.NumberColumn(format="localized") for name in ("Parameters", "FLOPs", "Bytes out")},
    )
