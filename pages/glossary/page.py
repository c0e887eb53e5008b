"""Glossary: the words of all pages, each with a definition, a formula or a number, and the page that shows it."""

import streamlit as st

from pages.core.frame.frame import heading
from pages.core.words.glossary import entry
from pages.core.words.glossary_terms import BY_KEY, GROUPS, Term
from pages.glossary.params import Params
from pages.state.links import link, next_page
from pages.state.url_state import state


def main() -> None:
    heading()
    st.markdown(
        "You see the terms of these pages, each with a definition.  \n"
        "Look for a dotted line under a word: on every page, such a word links to its definition here.  \n"
        "Each term links to a page that shows what it means on your own sentence."
    )
    selected()
    left, right = st.columns(2, gap="large")
    for number, (group, terms) in enumerate(GROUPS.items()):
        with left if number < 2 else right:
            st.header(group, anchor=False)
            for term in terms:
                show(term, f"term-{term.key}")
    next_page("heads", "Heads, where most of these words are used")


def selected() -> None:
    """The term that the address names, or that you choose."""
    names = {"": "", **{key: term.name for key, term in sorted(BY_KEY.items())}}
    state.bound(st.selectbox, Params.term, "Find a term", list(names), format_func=names.get, width=320)
    if key := state.get(Params.term):
        with st.container(border=True):
            show(BY_KEY[key], "term-selected")


def show(term: Term, key: str) -> None:
    """A term and the link to its page."""
    with st.container(key=key):
        st.markdown(entry(term))
        link(term.page)


main()
