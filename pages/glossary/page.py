"""Glossary: the words of all pages with their definitions, and the works that pages name."""

import streamlit as st

from encoder.words.glossary import GROUPS, TERMS
from encoder.words.references import REFERENCES
from pages.core.frame.frame import heading, show
from pages.core.widgets import glossary_panel
from pages.core.words import plain
from pages.glossary.params import Params
from pages.state import next_page, state


def main() -> None:
    heading()
    groups = {f"group-{number}": group for number, group in enumerate(GROUPS)} | {"references": "References"}
    st.markdown(
        f"{len(TERMS)} terms, each with the page that shows it, and the {len(REFERENCES)} works that pages name: "
        + " · ".join(f"[{group}](#{anchor})" for anchor, group in groups.items())
    )
    with st.expander("All terms from A to Z", icon=":material/sort_by_alpha:"):
        by_name = sorted(TERMS, key=lambda term: term.name.strip("[").lower())
        st.markdown(" · ".join(f"[{plain(term.name)}](glossary?term={term.key})" for term in by_name))
    if chosen := glossary_panel.find(state.newest(Params.term) or state.newest(Params.source), _choose):
        with st.container(border=True, key="term-selected"):
            glossary_panel.show(chosen)
    left, right = st.columns(2, gap="large")
    for number, (group, terms) in enumerate(GROUPS.items()):
        with left if number < 2 else right:
            st.header(group, anchor=f"group-{number}")
            for term in terms:
                with st.container(key=f"term-{term.key}"):
                    glossary_panel.show(term.key)
    st.header("References", anchor="references")
    for reference in REFERENCES:
        st.markdown(reference.entry())
    next_page("model", "Where are these in a model?")


def _choose(key: str) -> None:
    state.put(Params.term, key if glossary_panel.is_term(key) else "")
    state.put(Params.source, "" if glossary_panel.is_term(key) else key)


show(main)
