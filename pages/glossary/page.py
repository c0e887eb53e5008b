"""Glossary: the words of all pages with their definitions, and the works that pages name."""

import streamlit as st

from encoder.words.glossary import GROUPS, TERMS
from encoder.words.references import REFERENCES
from pages.components.lazy import expander
from pages.core.frame.frame import heading, show
from pages.core.widgets import glossary_panel
from pages.glossary.params import Params
from pages.state import next_page, state


def main() -> None:
    heading()
    groups = {f"group-{number}": group for number, group in enumerate(GROUPS)} | {"references": "References"}
    st.markdown(f"{len(TERMS)} terms, each with the page that shows it, and {len(REFERENCES)} works that pages name.")
    with st.container(key="glossary-find", horizontal=True, vertical_alignment="center"):
        chosen = glossary_panel.find(state.newest(Params.term) or state.newest(Params.source), _choose, named=False)
        glossary_panel.ask()
        st.markdown(" · ".join(f"[{group}](#{anchor})" for anchor, group in groups.items()), width="content")
    if chosen:
        with st.container(border=True, key="term-selected"):
            glossary_panel.show(chosen)
    left, right = st.columns(2, gap="large")
    for number, (group, terms) in enumerate(GROUPS.items()):
        with left if number < 3 else right:
            st.header(group, anchor=f"group-{number}")
            for term in terms:
                with st.container(key=f"term-{term.key}"):
                    glossary_panel.show(term.key)
    st.header("References", anchor="references")
    if (part := expander(f"All {len(REFERENCES)} works", "references", icon=":material/library_books:")) is not None:
        with part:
            for reference in REFERENCES:
                st.markdown(reference.entry())
    next_page("model", "Where are these in a model?")


def _choose(key: str) -> None:
    state.put(Params.term, key if glossary_panel.is_term(key) else "")
    state.put(Params.source, "" if glossary_panel.is_term(key) else key)


show(main)
