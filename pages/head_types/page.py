"""Head types: heads by type, heads as points by their similarity, and the measures of every head as a table."""

import streamlit as st

from pages.components.lazy import popover
from pages.core.frame.frame import current_view, heading
from pages.core.inputs.input_words import words_of
from pages.core.view import head_measures
from pages.core.words.glossary import brief_opening
from pages.head_types import by_type, selected, similarity, table
from pages.head_types.heads import Heads, threshold_controls
from pages.head_types.params import PARTS, Params
from pages.state.links import next_page
from pages.state.url_state import state

#: Part -> what draws it and says what it exports.
DRAW = {"roles": by_type.draw, "map": similarity.draw, "table": table.draw}

view = current_view()
config, words = view.loaded.config, words_of(view.trace)

heading()
brief_opening(
    f"You see what the {config.n_layers} × {config.n_heads} heads of **{view.loaded.name}** do in this "
    f"{words.input}.  \n"
    "Look for heads with one clear pattern: the previous token, the token itself, or an attention sink.  \n"
    f"Such patterns suggest what a head may do; one {words.input} is no proof. Another can show other types."
)
with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
    state.segmented(Params.part, "Show", PARTS)
    head_measures.type_filter(view.trace, "Any type", width=260)
    thresholds = popover("Thresholds", "thresholds", icon=":material/tune:")
    if thresholds is not None:
        threshold_controls(thresholds, words, of_text=view.trace.kind == "text")

params = state.read(Params)
found = Heads.of(view, params)
left, right = st.columns([5, 3], gap="medium")
with left:
    exported = DRAW[params.part](view, found)
with right:
    selected.draw(view, found)
exported.draw()
next_page("beyond_weights", "Beyond attention weights")
