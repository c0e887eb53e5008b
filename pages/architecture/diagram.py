"""Parts of the page: the diagram, the open block, the table of all blocks."""

from __future__ import annotations

import streamlit as st

from encoder import explain, figures
from encoder.explain.blocks import Architecture, ArchitectureBlock
from encoder.figures.architecture import Drawing, Stack, architecture_diagram, shape_text
from encoder.figures.steps import score_map, stacked_rows, usual_limit
from pages.components import plot
from pages.core import selection, sidebar, token_rows
from pages.core.view import View, state

#: Tokens of a long text that are drawn around the followed one.
DRAWN_TOKENS = 128
_DEFAULT = "attention"
_KINDS = {"q": "q", "k": "k", "v": "v", "mixing": "v"}


def suffix(key: str) -> str:
    """ "layers.2.q" -> "q", so that an open block stays open when another layer is chosen."""
    parts = key.split(".", 2)
    return parts[2] if parts[0] == "layers" else key


def open_block(drawn: Architecture, layer: int) -> ArchitectureBlock:
    """The block that the address names, in the chosen layer; the attention map where it names none."""
    wanted = state.get("block") or _DEFAULT
    keys = {block.key for block in drawn.blocks}
    for key in (f"layers.{layer}.{wanted}", wanted):
        if key in keys:
            return drawn[key]
    st.warning(
        f"The link's block {sidebar.plain(wanted[:40])}: this encoder has no such block. Shown: its attention.",
        icon=":material/link_off:",
    )
    state.put("block", "")
    return drawn[f"layers.{layer}.{_DEFAULT}"]


def diagram(view: View, drawn: Architecture, opened: ArchitectureBlock, token: int) -> None:
    """The drawing; a click opens a block or another layer."""
    trace, says = view.trace, state.get("says")
    counted = {} if says == "shape" else counts(drawn, view.layer, says)
    drawing = architecture_diagram(
        drawn.blocks,
        drawn.edges,
        layer=view.layer,
        n_layers=view.loaded.config.n_layers,
        strips=None if counted else strips(view, drawn, token),
        contents=words_of(counted, says) or contents(trace.labels, trace.ids, token),
        shares={key: share for key, (_, share) in counted.items()},
        selected=opened.key,
    )
    plot(
        drawing.figure,
        key="architecture",
        alt=f"The encoder as blocks from top to bottom, layer {view.layer} in full: "
        + ", ".join(block.title for block in drawing.blocks)
        + ".",
        height=drawing.height,
        on_event=lambda event: _on_click(event, drawing),
    )


def _on_click(event: dict, drawing: Drawing) -> None:
    if event.get("event") != "click" or event["axis"] != "point" or event["point"] >= len(drawing.blocks):
        return
    block = drawing.blocks[event["point"]]
    if isinstance(block, Stack):
        selection.put(layer=block.layer)
    else:
        selection.put(block=suffix(block.key))


def strips(view: View, drawn: Architecture, token: int) -> dict[str, object]:
    """Key of a block -> the followed token's numbers there."""
    found = {}
    for block in drawn.drawn(view.layer):
        if block.opens is not None:
            opened = explain.tensor(view.trace, block.opens, view.head, slice(token, token + 1), state.get("pooling"))
            found[block.key] = opened.values[0]
    return found


def counts(drawn: Architecture, layer: int, says: str) -> dict[str, tuple[int, float]]:
    """Key of a block -> its parameters, FLOPs or bytes, and their share of the whole encoder; of the layers that are
    drawn as one block, and of the one drawn in full ("layer"), the sums."""

    def number(block: ArchitectureBlock) -> int:
        return {"parameters": block.parameters, "flops": block.flops, "memory": block.memory}[says]

    found: dict[str, int] = {}
    for block in drawn.blocks:
        for key in (block.key,) if block.layer is None else _keys_in_drawing(block, layer):
            found[key] = found.get(key, 0) + number(block)
    total = sum(number(block) for block in drawn.blocks) or 1
    return {key: (value, value / total) for key, value in found.items()}


def _keys_in_drawing(block: ArchitectureBlock, layer: int) -> tuple[str, ...]:
    if block.layer == layer:
        return block.key, "layer"
    return ("stack.before" if block.layer is not None and block.layer < layer else "stack.after",)


def words_of(counted: dict[str, tuple[int, float]], says: str) -> dict[str, str]:
    """Key -> "1.77 M (7.8 %)", and nothing where the number is 0."""
    unit = {"parameters": "", "flops": "FLOP", "memory": "B"}.get(says, "")
    return {
        key: f"{short(value)}{unit}".strip() + f" ({percent(share)})" if value else "–"
        for key, (value, share) in counted.items()
    }


def percent(share: float) -> str:
    """0.0779 -> "7.8 %"; a small share is not 0."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    return f"{share:.1%}".replace("%", " %")


def contents(labels: tuple[str, ...], ids: tuple[int, ...], token: int) -> dict[str, str]:
    """What stands in the first two blocks: the words and the ids around the followed token, as many as fit."""
    return {"tokens": _around(labels, token), "ids": _around([str(token_id) for token_id in ids], token)}


def _around(words: tuple[str, ...] | list[str], token: int, most: int = 34) -> str:
    first = last = token
    grown = True
    while grown:  # a word on each side in turn, while they fit
        grown = False
        for before, after in ((0, 1), (1, 0)):
            low, high = first - before, last + after
            if low >= 0 and high < len(words) and len(" ".join(words[low : high + 1])) <= most:
                first, last, grown = low, high, True
    text = " ".join(words[first : last + 1])
    text = text if len(text) <= most else text[: most - 1] + "…"
    return ("… " if first else "") + text + (" …" if last + 1 < len(words) else "")


def details(view: View, drawn: Architecture, block: ArchitectureBlock, token: int) -> None:
    """The open block: shapes, counts, its tensor, and the step that explains it."""
    where = "" if block.layer is None else f" in layer {block.layer}"
    st.subheader(f"{block.title}{where}", anchor=False)
    said = f"{block.detail[:1].upper()}{block.detail[1:]}. " if block.detail else ""
    shared = "" if block.shared_with is None else f" It shares the weights of layer {block.shared_with}, counted there."
    st.markdown(f"{sidebar.plain(said)}In: {shape_words(block.inputs)}. Out: {shape_words(block.outputs)}.{shared}")
    with st.container(horizontal=True, gap="large"):
        share = f"{percent(block.share)} of all" if block.parameters else None
        st.metric("Parameters", f"{block.parameters:,}", share, delta_color="off", delta_arrow="off", width="content")
        st.metric("FLOPs", short(block.flops), help=f"{block.flops:,} for this sentence.", width="content")
        memory = f"{block.memory:,} bytes for what it hands on, for this sentence."
        st.metric("Memory", f"{short(block.memory)}B", help=memory, width="content")
    if block.opens is not None:
        _tensor(view, block, token)
    if block.step is not None and st.button(
        "Explain it number by number", icon=":material/calculate:", type="primary", key="explain"
    ):
        selection.put(**_step_values(block, token))
        st.switch_page("pages/forward_pass/page.py")


def _step_values(block: ArchitectureBlock, token: int) -> dict[str, object]:
    values: dict[str, object] = {"step": block.step}
    if block.step == "qkv":
        values["vector"] = block.kind
        values["j" if block.kind in "kv" else "i"] = token
    else:
        values["i"] = token
    if block.step == "norm" and block.group in ("attention", "ffn"):
        values["part"] = block.group
    return values


def shape_words(shape: tuple[tuple[str, int], ...]) -> str:
    """ "T × D = 9 × 384"."""
    return f"{' × '.join(name for name, _ in shape)} = {shape_text(shape)}"


def short(number: int) -> str:
    """1234567 -> "1.23 M", on one line."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}\u00a0{unit}"
    return f"{number}\u00a0"


def _tensor(view: View, block: ArchitectureBlock, token: int) -> None:
    """The block's numbers as a map, a row a token, the followed one framed."""
    n_tokens, labels = view.trace.n_tokens, view.trace.labels
    start = min(max(0, token - DRAWN_TOKENS // 2), max(0, n_tokens - DRAWN_TOKENS))
    rows = slice(start, min(start + DRAWN_TOKENS, n_tokens))
    opened = explain.tensor(view.trace, str(block.opens), view.head, rows, state.get("pooling"))
    count = rows.stop - rows.start
    height = token_rows.height(count, pitch=18, most=430)
    if block.kind in ("softmax", "scores"):
        height = selection.map_height(count, most=450)
    title = block.title + ("" if opened.head is None else f", head {opened.head}")
    if block.opens == "pooled":
        figure, height = stacked_rows({"pooled": opened.values[0]}), selection.rows_height(1)
    elif block.kind == "softmax":
        figure = figures.attention_heatmap(
            opened.values[:, rows], labels, title=title, colours=view.colours, selected=(token, None),
            row_offset=rows.start, column_offset=rows.start,
        )  # fmt: skip
    elif block.kind == "scores":
        figure = score_map(
            opened.values[:, rows], opened.allowed[:, rows], labels, selected=(token, None),  # type: ignore[index]
            first=(rows.start, rows.start),
        )  # fmt: skip
    else:
        kind = _KINDS.get(block.kind, "residual")
        figure = figures.vectors_heatmap(
            opened.values, labels, kind, title=title, selected=token, first=rows.start,
            limit=usual_limit(opened.values),
            component_name="neuron" if block.kind == "ffn" else "component",
        )  # fmt: skip
    plot(
        figure,
        key=f"tensor-{block.kind}",
        alt=f"{title}: one row a token.",
        height=height,
        on_event=lambda event: selection.take_cell(event, "i", None),
    )
    if block.opens != "pooled":
        part = "" if rows.stop - rows.start == n_tokens else f" Drawn: {rows.stop - rows.start} tokens around it."
        st.caption(
            f"A row a token; {selection.token(view, token)} is framed. Click another row to follow that token." + part
        )


def all_blocks(drawn: Architecture) -> None:
    """Every block with its numbers, and their sums."""
    blocks = drawn.blocks
    flops = sum(block.flops for block in blocks)
    st.markdown(
        f"**All {len(blocks)} blocks in numbers.** Together {drawn.n_parameters:,} parameters and {flops:,} FLOPs for "
        f"{drawn.n_tokens} tokens; a multiplication with its addition counts as two."
    )
    st.dataframe(
        {
            "block": [block.title for block in blocks],
            "layer": ["" if block.layer is None else str(block.layer) for block in blocks],
            "shape": [shape_text(block.outputs) for block in blocks],
            "parameters": [block.parameters for block in blocks],
            "share": [block.share for block in blocks],
            "flops": [block.flops for block in blocks],
            "memory": [block.memory for block in blocks],
        },
        hide_index=True,
        width="stretch",
        height=360,
        column_config={
            "block": st.column_config.TextColumn("ArchitectureBlock", width=130),
            "layer": st.column_config.TextColumn("Layer", width=50),
            "shape": "Out",
            "parameters": st.column_config.NumberColumn("Parameters", format="localized"),
            "share": st.column_config.ProgressColumn("Share", format="percent", min_value=0.0, max_value=1.0),
            "flops": st.column_config.NumberColumn("FLOPs", format="localized"),
            "memory": st.column_config.NumberColumn("Bytes out", format="localized"),
        },
    )
