"""All heads at once: by type, by their measures as a table, by pairs of tokens, and over a corpus."""

import streamlit as st

from pages.components.lazy import popover
from pages.core.inputs.input_words import words_of
from pages.core.view import View, head_measures
from pages.core.widgets import Export
from pages.core.words import opening
from pages.heads.params import PARTS, QUESTIONS, AllHeads
from pages.heads.types import alignment, by_type, corpus, selected, table
from pages.heads.types.heads import Heads, threshold_controls
from pages.state import state

#: Part -> what draws it and says what it exports.
DRAW = {"roles": by_type.draw, "table": table.draw}
#: Part -> its first line.
ANSWERS = {"roles": by_type.answer, "table": table.answer}


def offered(view: View) -> dict[str, str]:
    """Part -> title, for this input: an atlas is of texts, and a file of cross-attention maps has no types."""
    if view.loaded.takes == "cross":
        return {"": PARTS[""]}
    return {name: title for name, title in PARTS.items() if name != "corpus" or view.trace.kind == "text"}


def shown(view: View) -> str:
    """The open part; "" for the small maps."""
    part = state.newest(AllHeads.part)
    return part if part in offered(view) else ""


def choose(view: View) -> None:
    """The widget of what is shown of all heads."""
    state.selectbox(AllHeads.part, "All heads", offered(view), label_visibility="collapsed", width=160)


def draw(view: View, part: str) -> None:
    """A part of the page. part: one of QUESTIONS."""
    words = words_of(view.trace)
    opening(QUESTIONS[part].format(input=words.input))
    exported: Export | None
    if part == "corpus":
        exported = corpus.draw(view)
    elif part == "align":
        exported = alignment.draw(view)
    else:
        exported = _numbers(view, part)
        st.caption(
            f"Such patterns suggest what a head may do. One {words.input} is not a proof: another can show others."
        )
    if exported is not None:
        exported.draw()
    if view.loaded.decoder is not None and view.loaded.decoder.reads:
        st.button(
            "Heads of cross-attention: which attend to the right tokens, and which matter",
            icon=":material/grid_view:",
            key="open-cross",
            on_click=state.put_named,
            kwargs={"stack": "cross", "all_heads": ""},
        )


def _numbers(view: View, part: str) -> Export:
    """Heads by type, or the table of their measures, next to the selected head."""
    # Cards fit next to the map of the selected head; a table needs the width.
    said = st.empty()
    cards, head = st.columns([28, 72], gap="medium") if part == "roles" else (st.container(), st.container())
    with cards:
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            head_measures.type_filter(view.trace, "Any type", label_visibility="collapsed", width=200)
            if (thresholds := popover("Thresholds", "thresholds", icon=":material/tune:")) is not None:
                threshold_controls(thresholds, words_of(view.trace), of_text=view.trace.kind == "text")
        found = Heads.of(view, state.read(AllHeads))
        said.markdown(ANSWERS[part](found))
        exported = DRAW[part](view, found)
    with head:
        selected.draw(view, found)
    return exported
