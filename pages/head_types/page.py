"""Head types: heads by type, by their measures as a table, and over a corpus."""

import streamlit as st

from pages.components.lazy import popover
from pages.core.frame.frame import heading, show
from pages.core.inputs.input_words import words_of
from pages.core.view import View, head_measures
from pages.core.words import opening
from pages.head_types import alignment, by_type, corpus, selected, table
from pages.head_types.heads import Heads, threshold_controls
from pages.head_types.params import PARTS, QUESTIONS, Params
from pages.state import links, next_page, state

#: Part -> what draws it and says what it exports.
DRAW = {"roles": by_type.draw, "table": table.draw}


def main(view: View) -> None:
    words = words_of(view.trace)
    parts = PARTS if view.trace.kind == "text" else {name: title for name, title in PARTS.items() if name != "corpus"}

    with heading():
        part = state.segmented(Params.part, "Show", parts, label_visibility="collapsed")
    opening(QUESTIONS[part].format(input=words.input))

    if part == "corpus":
        exported = corpus.draw(view)
    elif part == "align":
        exported = alignment.draw(view)
    else:
        # Cards fit next to the map of the selected head; a table needs the width.
        cards, head = st.columns([28, 72], gap="medium") if part == "roles" else (st.container(), st.container())
        with cards:
            with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
                head_measures.type_filter(view.trace, "Any type", label_visibility="collapsed", width=200)
                if (thresholds := popover("Thresholds", "thresholds", icon=":material/tune:")) is not None:
                    threshold_controls(thresholds, words, of_text=view.trace.kind == "text")
            found = Heads.of(view, state.read(Params))
            exported = DRAW[part](view, found)
        with head:
            selected.draw(view, found)
        st.caption(
            f"Such patterns suggest what a head may do. One {words.input} is not a proof: another can show others."
        )
    if exported is not None:
        exported.draw()
    if view.loaded.decoder is not None and view.loaded.decoder.reads:
        links.button(
            "heads",
            "Heads of cross-attention: which attend to the right tokens, and which matter",
            "grid_view",
            "open-cross",
            {"stack": "cross"},
        )
    next_page("contribution", "Contribution")


show(main)
