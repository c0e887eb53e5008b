"""Compare: the open head next to another head, input or model, with the difference of their maps."""

import plotly.graph_objects as go
import streamlit as st

from encoder.export import tables
from encoder.export.document import Section
from encoder.export.options import SPECIAL_WORDS
from pages.core.view import MapParams, View
from pages.core.widgets import Export, answer, comparison
from pages.core.widgets.comparison import Sides
from pages.core.words import errors_said
from pages.heads.compare import controls, details, maps
from pages.heads.compare.compared import Compared
from pages.heads.compare.sides import selected_steps, sides
from pages.heads.params import SideB
from pages.state import state

#: What is compared, in the title of the export.
TITLES = {"heads": "Two heads", "sentences": "Two {inputs}", "models": "Two models"}


def draw(view: View) -> Export | None:
    """The controls and the three maps; None where side B cannot run."""
    controls.draw(view)
    params, look = state.read(SideB), state.read(MapParams)
    with errors_said():
        with st.spinner("Comparing …", show_time=False):
            both = sides(view, params)
            found = both.compared(look.special)  # type: ignore[arg-type]
        selected = selected_steps(view, params, both.alignment)
        notes(both, params)
        return show(view, Compared(both, found, look.special, look.range, selected))  # type: ignore[arg-type]
    return None


def show(view: View, compared: Compared) -> Export:
    """The maps and what differs."""
    drawn = maps.figures_of(compared, view.colours)
    with answer.area():
        details.draw_answer(compared)
        maps.draw(compared, drawn)
    st.markdown(compared.differences())
    st.caption(compared.legend())
    details.pairs(compared)
    first, second = compared.sides.first, compared.sides.second
    return Export(
        view,
        f"{TITLES[compared.sides.what].format(inputs=compared.words.inputs)}, {first.head_name} and {second.head_name}",
        lambda: tables.comparison_frame(compared.found, *compared.step_labels[:2]),
        sections=lambda: report_sections(compared, drawn),
        lines=comparison.python_lines(compared.sides, compared.special),
        settings={
            "side_A": compared.described(first),
            "side_B": compared.described(second),
            "special_tokens": SPECIAL_WORDS[compared.special],
        },
    )


def notes(both: Sides, params: SideB) -> None:
    """Notes on side B; the frame gives those on side A: what was cut, changed or left empty."""
    side, config = both.second, both.second.loaded.config
    for name, asked, shown, count in (
        ("layer", params.layer_b, side.layer, config.n_layers),
        ("head", params.head_b, side.head, config.n_heads),
    ):
        if both.what != "sentences" and asked is not None and asked != shown:
            st.warning(
                f"The link asks for {name} {asked} on side B, whose {name}s are 0 to {count - 1}. Shown: {shown}.",
                icon=":material/link_off:",
            )
    source = side.trace.source
    if both.what == "sentences" and not side.text.strip():
        st.info("Sentence B is empty, so it has special tokens only.", icon=":material/info:")
    if both.what != "heads" and source is not None and source.cut:
        st.warning(
            f"Side B is {source.n_full:,} tokens; {side.loaded.name} holds {config.max_tokens:,}. Compared: the first "
            f"{len(source):,}.",
            icon=":material/content_cut:",
        )
    if both.what == "models":
        for sentence in side.loaded.remarks:
            st.info(f"B: {sentence}", icon=":material/info:")


def report_sections(compared: Compared, drawn: dict[str, go.Figure]) -> list[Section]:
    """The parts of the standalone report."""
    sides = compared.sides
    less, more = sides.ends
    titles = {
        "A": f"A: {compared.described(sides.first)}",
        "B": f"B: {compared.described(sides.second)}",
        "difference": f"The difference, {more.name} − {less.name}",
    }
    differences = compared.differences().replace("**", "").replace("\\", "")
    return [
        Section("What differs", sentences=[differences, compared.legend()]),
        *(Section(titles[name], figure=figure) for name, figure in drawn.items()),
        Section("The pairs that differ most", table=tables.cells_frame(compared.found.largest, compared.names)),
    ]
