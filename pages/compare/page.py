"""Compare: two heads, two sentences or two models, their maps beside each other and subtracted."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import figures
from encoder.errors import EncoderError
from encoder.export import tables
from encoder.export.document import Section
from encoder.export.options import SPECIAL_WORDS
from encoder.figures import difference
from encoder.figures.numbers import three_digits
from encoder.measure import align
from encoder.measure.aggregate import SpecialTokens
from pages.compare import sides as compare
from pages.compare.params import MODELS, WHAT
from pages.compare.sides import Side, Sides
from pages.components import plot
from pages.core import cache, comparison, model_access, sidebar
from pages.core.export import export_panel
from pages.core.frame import current_view, heading
from pages.core.view import state

view = current_view()
#: Up to so many steps all three maps stand in one row; more need the room of two.
IN_ONE_ROW = 24
HEIGHT, TALL = 400, 460


def main() -> None:
    heading()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        state.bound(
            st.segmented_control, "compare", "What to compare", list(WHAT), required=True, format_func=WHAT.get,
            label_visibility="collapsed", width="content",
        )  # fmt: skip
        st.selectbox(
            "Example", list(compare.EXAMPLES), index=None, key="compare:example", placeholder="Try an example …",
            label_visibility="collapsed", on_change=_use_example, width=300,
        )  # fmt: skip
        options = st.popover("Options", icon=":material/tune:", width="content")
    other_side()
    special, span = _options(options)
    try:
        with st.spinner("Comparing …", show_time=False):
            sides = compare.sides(view)
            found = sides.compared(special)
    except EncoderError as error:
        st.error(str(error), icon=":material/error:")
        return
    show(sides, found, special, span)


def _use_example() -> None:
    chosen = st.session_state.get("compare:example")
    if chosen is None:
        return
    for name, value in compare.EXAMPLES[chosen].items():
        state.put(name, value)
    for name in ("i", "j", "i_b", "j_b"):
        state.put(name, None)


# --- what side B is, and how it is drawn -----------------------------------------------------------------------------


def other_side() -> None:
    """The widgets that choose side B. Side A is what the sidebar says."""
    what = state.get("compare")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if what == "sentences":
            state.bound(
                st.text_input, "text_b", "Sentence B", placeholder="Type the other sentence and press Enter",
                help="Sentence A is the sidebar's. Both run through the same model; the same head is shown.",
            )  # fmt: skip
        if what == "models":
            _choose_model()
        if what != "sentences":
            _choose_head(what)


def _choose_model() -> None:
    chosen = state.bound(
        st.selectbox, "model_b", "Model B", list(MODELS), format_func=_model_title, width=270,
        help="Model A is the sidebar's. Both read the same sentence.",
    )  # fmt: skip
    if chosen == "other":
        state.bound(
            st.text_input, "source_b", "Folder or Hub id of B", placeholder="org/name", help=model_access.source_help(),
            width=270,
        )  # fmt: skip


def _model_title(name: str) -> str:
    return "from scratch, another seed" if name == "scratch" and view.model.scratch is not None else MODELS[name]


def _choose_head(what: str) -> None:
    """Layer and head of side B; as long as nobody chooses them the page does, and the link stays short."""
    try:
        config = (view.loaded if what == "heads" else cache.model(compare.other_model(view))).config
    except EncoderError:
        return  # what is wrong with model B is said where it is compared
    layer, head = compare.other_head(what, view, config)
    for name, value, count in (("layer_b", layer, config.n_layers), ("head_b", head, config.n_heads)):
        key = f"compare:{name}"
        st.session_state[key] = value
        label = name.removesuffix("_b").capitalize()
        st.number_input(f"{label} B", 0, count - 1, key=key, on_change=_take, args=(name,), width=130)


def _take(name: str) -> None:
    state.put(name, st.session_state[f"compare:{name}"])


def _options(place: DeltaGenerator) -> tuple[SpecialTokens, str]:
    _choice(
        place, "special", "Special tokens",
        {"show": "shown", "zero": "zeroed", "renormalise": "left out, rows to 1"},
        "[CLS] and [SEP] take much of the attention in many heads, and hide what differs between words.",
    )  # fmt: skip
    _choice(
        place, "range", "Range", {"fixed": "0 to 1", "head": "these two"},
        "Both maps always have the same colours: from 0 to 1, or to the largest weight in either.",
    )  # fmt: skip
    return state.get("special"), state.get("range")


def _choice(place: DeltaGenerator, name: str, label: str, words: dict[str, str], why: str) -> None:
    """One of several words, for a value that the Heads page has a widget of its own for."""
    key = f"compare:{name}"
    st.session_state[key] = state.get(name)
    place.segmented_control(
        label, list(words), key=key, required=True, format_func=words.get, help=why, on_change=_take, args=(name,)
    )


# --- what is seen ----------------------------------------------------------------------------------------------------


def show(sides: Sides, found: align.Comparison, special: SpecialTokens, span: str) -> None:
    """Both maps, their difference, and what it says."""
    notes(sides)
    steps = sides.alignment
    names = align.step_labels(sides.first.trace, sides.second.trace, steps)
    told = align.disambiguate(names[2], steps)
    selected = compare.selected_steps(view, steps)
    st.markdown(what_differs(sides, found, told, selected[0]))
    drawn = maps(sides, found, names, selected, span)
    beside = draw(sides, found, drawn)
    st.caption(how_to_read(sides, found, told, special))
    left, right = st.columns(2, gap="medium") if beside is None else (beside, st.container())
    with left:
        largest(sides, found, told, selected, special)
    with right:
        every_head(sides, special)
    export_panel(
        view,
        f"{WHAT[sides.what]}, {sides.first.head_name} and {sides.second.head_name}",
        lambda: tables.comparison_frame(found, names[0], names[1]),
        sections=lambda: sections(sides, found, names, drawn, special),
        lines=comparison.python_lines(sides, special),
        settings={
            "side_A": described(sides, sides.first), "side_B": described(sides, sides.second),
            "special_tokens": SPECIAL_WORDS[special],
        },
    )  # fmt: skip


def notes(sides: Sides) -> None:
    """What holds for side B and is said of side A above every page: what was cut, moved or left empty."""
    side, config = sides.second, sides.second.loaded.config
    for name, shown, count in (("layer", side.layer, config.n_layers), ("head", side.head, config.n_heads)):
        asked = state.get(f"{name}_b")
        if sides.what != "sentences" and asked is not None and asked != shown:
            st.warning(
                f"The link asks for {name} {asked} on side B, whose {name}s are 0 to {count - 1}. Shown: {shown}.",
                icon=":material/link_off:",
            )
    source = side.trace.source
    if sides.what == "sentences" and not side.text.strip():
        st.info("Nothing is typed as sentence B: its special tokens stand alone.", icon=":material/info:")
    if sides.what != "heads" and source is not None and source.cut:
        st.warning(
            f"Side B is {source.n_full:,} tokens; {side.loaded.name} takes {side.loaded.config.max_tokens:,}. "
            f"Compared: the first {len(source):,}.",
            icon=":material/content_cut:",
        )
    if sides.what == "models":
        for sentence in side.loaded.notes:
            st.info(f"B: {sentence}", icon=":material/info:")


def described(sides: Sides, side: Side) -> str:
    """What tells a side from the other one: its head, its sentence or its model."""
    if sides.what == "sentences":
        return f"{side.head_name}: {side.text}"
    if sides.what == "models":
        return f"{side.head_name} of {side.model_name}"
    return side.head_name


def maps(
    sides: Sides,
    found: align.Comparison,
    names: tuple[tuple[str, ...], ...],
    selected: tuple[int | None, int | None],
    span: str,
) -> dict[str, go.Figure]:
    """Heading -> figure: A, B and their difference over the same steps; A and B in the same colours."""
    steps = sides.alignment
    pairs = (
        (sides.first, found.first, names[0], steps.first, steps.gaps[0]),
        (sides.second, found.second, names[1], steps.second, steps.gaps[1]),
    )
    drawn = {}
    for side, weights, labels, positions, gaps in pairs:
        figure = figures.attention_heatmap(
            weights, labels, block=found.block, colours=view.colours, selected=selected, places=(positions, positions)
        )
        figure.update_layout(margin_t=8)  # the colour bar makes itself the room that it needs
        if span == "head":
            figure.update_traces(zmax=found.top, selector={"type": "heatmap"})
        drawn[side.name] = difference.show_gaps(figure, gaps) if found.block == 1 else figure
    less, more = sides.ends
    sign = 1 if more is sides.second else -1
    by_side = {"A": found.first, "B": found.second}
    figure = difference.attention_difference(
        sign * found.difference, names[2], names=(less.name, more.name), block=found.block, selected=selected,
        weights=(by_side[less.name], by_side[more.name]), told=align.disambiguate(names[2], steps),
    )  # fmt: skip
    every_gap = sorted({step for side in steps.gaps for step in side})
    drawn["difference"] = difference.show_gaps(figure, every_gap) if found.block == 1 else figure
    return drawn


def draw(sides: Sides, found: align.Comparison, drawn: dict[str, go.Figure]) -> DeltaGenerator | None:
    """The three maps, in one row where their cells stay large enough; a click in any selects in all.

    Returns the free place beside the third where there is one.
    """
    on_event = compare.from_click(sides.alignment, found.block)
    if len(sides.alignment) <= IN_ONE_ROW:
        places, beside = st.columns(3, gap="small"), None
    else:
        *places, beside = [place for _ in range(2) for place in st.columns(2, gap="small")]
    less, more = sides.ends
    colours = {less.name: difference.LESS, more.name: difference.MORE}
    for place, (name, figure) in zip(places, drawn.items(), strict=True):
        if name == "difference":
            difference.name_side(figure, f"{more.name} − {less.name}")
            alt = f"Difference of both maps, {more.name} minus {less.name}, around 0."
        else:
            side = sides.first if name == "A" else sides.second
            text = side.text if sides.what == "sentences" else described(sides, side)
            difference.name_side(figure, name, text, colours[name])
            alt = f"Attention map of side {name}, {described(sides, side)}: queries downwards, keys to the right."
        with place:
            plot(figure, key=f"compare-{name}", alt=alt, height=HEIGHT if beside is None else TALL, on_event=on_event)
    return beside


def what_differs(sides: Sides, found: align.Comparison, labels: tuple[str, ...], chosen: int | None = None) -> str:
    """Where the two differ most, in numbers."""
    if not found.largest:
        return "**A and B are the same**: no weight of the two maps differs."
    cell = found.largest[0]
    query, key = (f"**{quoted(labels[step])}**" for step in (cell.query, cell.key))
    said = [
        f"The largest difference: {query} gives {key} {_weights(cell, change=False)}.",
        f"On average **{share(found.mean_moved)}** of a token's attention goes elsewhere in B",
    ]
    known = found.moved.nan_to_num(-1.0)
    most = int(known.argmax())
    said[1] += f"; most of all that of **{quoted(labels[most])}**, {share(float(known[most]))}."
    if sides.what == "sentences":
        said.append(_vectors(sides, labels, chosen))
    return " ".join(part for part in said if part)


def quoted(label: str) -> str:
    """A token inside Markdown, in quotation marks: it may be a comma."""
    return f"“{sidebar.plain(label)}”"


def share(part: float) -> str:
    """A share in per cent, with as many digits as say something."""
    return f"{part:.0%}" if part >= 0.01 or part == 0 else f"{part:.1%}" if part >= 0.001 else "less than 0.1%"


def _vectors(sides: Sides, labels: tuple[str, ...], query: int | None) -> str:
    """How alike the two output vectors are: of the selected word, and of the one that differs most."""
    alike = align.output_cosine(sides.first.trace, sides.second.trace, sides.alignment)
    least = align.least_alike(sides.first.trace, sides.second.trace, sides.alignment)
    if alike is None or least is None:
        return ""
    step, cosine = least
    said = f"Of the words in both sentences, **{quoted(labels[step])}** ends up least alike: the cosine "
    said += f"similarity of its two output vectors is **{cosine:.2f}**"
    if query is not None and query != step and not math.isnan(float(alike[query])):
        said += f"; of **{quoted(labels[query])}** it is **{float(alike[query]):.2f}**"
    return said + "."


def how_to_read(sides: Sides, found: align.Comparison, labels: tuple[str, ...], special: SpecialTokens) -> str:
    """What rows, columns, colours, gaps and positions mean. labels: as `align.disambiguate` gives them."""
    less, more = sides.ends
    said = ["Rows attend to columns."]
    said.append(f"In the difference teal is where {more.name} attends more, orange where {less.name} does.")
    if found.block > 1:
        said.append(
            f"{len(found.alignment):,} tokens: a cell is the largest weight, or the difference farthest from 0, among "
            f"{found.block} × {found.block} pairs of tokens."
        )
    elif any(sides.alignment.gaps):
        said.append("Grey rows and columns (“–”): tokens that this side does not have. “x | y”: x in A, y in B.")
    if any(" | " in label and label.endswith(")") for label in labels):
        said.append("“the (4 | 6)”: the one at position 4 in A and 6 in B.")
    if special != "show":
        said.append(f"Special tokens: {SPECIAL_WORDS[special]}; the model itself saw them.")
    return " ".join(said)


def largest(
    sides: Sides,
    found: align.Comparison,
    labels: tuple[str, ...],
    selected: tuple[int | None, int | None],
    special: SpecialTokens,
) -> None:
    """The selected pair in both maps, and the pairs that differ most: of the selected query, or of all."""
    query, key = selected
    cells = list(found.largest)
    if query is None:
        st.markdown("**The pairs that differ most.** Click a cell or a token in any of the maps to select it in all.")
    else:
        rows = align.row_differences(
            sides.first.measured, sides.second.measured, sides.alignment, query, special=special
        )
        cells = rows[:8]
        told = f"**{quoted(labels[query])}**"
        if key is not None:
            cell = next(cell for cell in rows if cell.key == key)
            st.markdown(f"{told} gives **{quoted(labels[key])}** {_weights(cell)}.")
        moved = float(found.moved[query])
        told_share = "" if math.isnan(moved) else f" {share(moved)} of its attention goes elsewhere in B."
        st.markdown(f"Where {told} differs most:{told_share}")
    st.dataframe(
        {
            "from": [labels[cell.query] for cell in cells],
            "to": [labels[cell.key] for cell in cells],
            "A": [_number(cell.first) for cell in cells],
            "B": [_number(cell.second) for cell in cells],
            "difference": [_difference(cell.difference) for cell in cells],
        },
        hide_index=True,
        width="stretch",
        column_config={"from": "Query", "to": "Key", "difference": "B − A"},
    )
    if query is not None or key is not None:
        st.button("Clear selection", icon=":material/close:", on_click=_clear)


def _clear() -> None:
    compare.clear_selection()


def _number(weight: float) -> str:
    """Three digits that count; "–" where a side has no such token."""
    return "–" if math.isnan(weight) else three_digits(weight)


def _difference(change: float) -> str:
    """The same with its sign; 0 has none."""
    return _number(abs(change)) if math.isnan(change) or change == 0 else "−+"[change > 0] + three_digits(abs(change))


def _weights(cell: align.Cell, *, change: bool = True) -> str:
    """Both weights in words, and their difference; a side that has no such token says so."""
    told = [
        f"nothing in {name}, which has no such pair" if math.isnan(weight) else f"**{three_digits(weight)}** in {name}"
        for name, weight in (("A", cell.first), ("B", cell.second))
    ]
    known = change and not math.isnan(cell.difference)
    return " and ".join(told) + (f": a difference of **{_difference(cell.difference)}**" if known else "")


def every_head(sides: Sides, special: SpecialTokens) -> None:
    """All heads by how much of their attention goes elsewhere; a click opens one."""
    moved = sides.by_head(special)
    if moved is None:
        st.info(
            f"Every head is compared up to {comparison.EVERY_HEAD:,} tokens; this text is longer. "
            "Choose heads by number.",
            icon=":material/info:",
        )
        return
    place = np.unravel_index(int(moved.argmax()), moved.shape)
    most = share(float(moved[place]))
    if sides.what == "heads":
        st.markdown(
            f"**How far every head is from A** ({sides.first.head_name}): the share of attention that goes elsewhere. "
            f"Farthest: L{place[0]} H{place[1]}, {most}. A click opens a head as B."
        )
        chosen = (sides.second.layer, sides.second.head)
    else:
        st.markdown(
            "**Where in the model it differs**: the share of each head's attention that goes elsewhere in B. Most: "
            f"L{place[0]} H{place[1]}, {most}. A click opens a head."
        )
        chosen = (sides.first.layer, sides.first.head)
    plot(
        difference.heads_heatmap(
            moved, title="attention that goes elsewhere", hover="L%{y} H%{x}: %{z:.1%} goes elsewhere",
            selected=chosen, limit=1.0 if sides.what == "heads" else None, colours=view.colours,
        ),
        key="compare-heads",
        alt=f"Share of attention that goes elsewhere, for {moved.size} heads: layers downwards, heads to the right.",
        height=290,
        on_event=compare.open_from(sides.what),
    )  # fmt: skip


def sections(
    sides: Sides,
    found: align.Comparison,
    names: tuple[tuple[str, ...], ...],
    drawn: dict[str, go.Figure],
    special: SpecialTokens,
) -> list[Section]:
    """The parts of the standalone report."""
    less, more = sides.ends
    titles = {
        "A": f"A: {described(sides, sides.first)}", "B": f"B: {described(sides, sides.second)}",
        "difference": f"The difference, {more.name} − {less.name}",
    }  # fmt: skip
    told = align.disambiguate(names[2], sides.alignment)
    said = what_differs(sides, found, told).replace("**", "").replace("\\", "")
    parts = [Section(titles[name], figure=figure) for name, figure in drawn.items()]
    return [
        Section("What differs", sentences=[said, how_to_read(sides, found, told, special)]),
        *parts,
        Section("The pairs that differ most", table=tables.cells_frame(found.largest, told)),
    ]


main()
