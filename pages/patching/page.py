"""Patching: which vector carries the difference between two inputs, by replacing one at a time."""

from __future__ import annotations

import streamlit as st

from encoder.causal import Where
from encoder.errors import EncoderError, OutOfMemory
from pages.core import answer
from pages.core.frame import current_view, heading
from pages.core.glossary import opening
from pages.core.input_words import words_of
from pages.core.links import next_page
from pages.core.markdown import say_error
from pages.core.url_state import state
from pages.core.view import View
from pages.patching import map, pair, run
from pages.patching.export import export_patching
from pages.patching.params import Params


def main(view: View) -> None:
    heading()
    words = words_of(view.trace)
    opening(
        f"You see what changes when one vector of your {words.input}’s run is replaced by another {words.input}’s "
        "vector.  \n"
        "Look for the cells with the largest share: follow them from layer 0 to the last layer.  \n"
        f"A large share suggests that this vector carries what makes the two {words.inputs} different."
    )
    if view.pair is not None:
        st.caption("This page leaves out the second sentence of the sidebar.")
    try:
        both = pair.draw(view)
        if both is not None:
            show(view, both)
    except OutOfMemory:
        raise
    except EncoderError as error:
        say_error(error, st.info, icon=":material/edit:")
    st.caption(
        f"Limits: a share holds for these two {words.inputs} and this outcome; shares do not sum to 1. A replaced "
        "vector that restores the other outcome is sufficient for it here, which does not show that it is necessary "
        "(Heimersheim and Nanda 2024)."
    )
    next_page("interventions", "Interventions, switch off a head and see what it causes")


def show(view: View, both: pair.Pair) -> None:
    """The map, the answer to a click, the patched run beside it, and the export panel."""
    where: Where = state.get(Params.where)  # type: ignore[assignment]
    found = map.measure(view, both, where)
    if found is None:
        return
    shares, *ends = found
    at = map.selected(shares)
    with answer.area():
        map.draw_answer(both, where, shares, at)
        left, right = st.columns([6, 5], gap="medium")
        with left:
            map.draw_map(both, where, shares, at)
            if where != "head":
                map.colours(both)
            st.caption(
                f"Tokens that differ: {int(both.differs.sum())} of {both.plain.n_tokens}. 0: as in your "
                f"{both.words.input}; 1: as in the other."
            )
        if at is not None:
            with right:
                run.draw(view, both, where, at, (ends[0], ends[1]))
    export_patching(view, both, where, shares, (ends[0], ends[1]))


main(current_view())
