"""The glossary and the bibliography behind one search field: a panel on every page, and a page of their own."""

from collections.abc import Callable

import streamlit as st

from encoder.words import references
from encoder.words.glossary import BY_KEY, Term
from pages.components.find import OPENER
from pages.components.lazy import expander
from pages.core.words import glossary
from pages.state import controlled, links

_FOUND = "words-found"


def is_term(key: str) -> bool:
    """Whether a key names a term, and not a reference."""
    return key in BY_KEY


def find(chosen: str, take: Callable[[str], None], key: str = "words", *, named: bool = True) -> str:
    """The list of all terms from A to Z, then of all references, to search in; the chosen key, "" for none.

    named: whether its name stands above it. Of what is typed all letters must be there in their order: letters here and
    there would find works that have nothing to do with it.
    """
    titles = {name: _title(term) for name, term in sorted(BY_KEY.items())}
    titles |= {name: f"{one.name}: {one.title}" for name, one in references.BY_KEY.items()}
    return (  # type: ignore[no-any-return]
        controlled(
            st.selectbox,
            "Find a term or a reference",
            list(titles),
            key=f"{key}:find",
            value=chosen or None,
            format_func=titles.get,
            filter_mode="contains",
            placeholder="Type a word or an author, or open the list from A to Z",
            label_visibility="visible" if named else "collapsed",
            width=480,
            take=lambda found: take(found or ""),
        )
        or ""
    )


def _title(term: Term) -> str:
    """A term with other words for it, so that typing one of these finds it: its plural and parts of it do anyway."""
    name = term.name

    def is_plural(word: str) -> bool:
        return word[:-1] in term.words or (word.startswith(name[:-1]) and len(word) <= len(name) + 2)

    others = ", ".join(word for word in term.words if word not in name and not is_plural(word))
    return f"{name} ({others})" if others else name


def ask() -> None:
    """A button that opens the search of the bar: it compares meanings, and says where nothing is near enough."""
    st.html(
        f'<button type="button" class="{OPENER}" aria-haspopup="dialog">Ask in other words<kbd>Ctrl K</kbd></button>'
    )


def show(key: str) -> None:
    """A term with the link to its page, or a reference."""
    if not is_term(key):
        st.markdown(references.BY_KEY[key].entry())
        return
    st.markdown(glossary.entry(BY_KEY[key]))
    links.link(BY_KEY[key].page)


def draw(page: str) -> None:
    """The panel at the end of a page, closed at first: a search field, and the terms that this page shows."""
    part = expander("Glossary and references", "words", icon=":material/menu_book:")
    if part is None:
        return
    with part:
        if chosen := find(
            st.session_state.get(_FOUND, ""), lambda key: st.session_state.update({_FOUND: key}), "panel"
        ):
            show(chosen)
        own = [term for term in BY_KEY.values() if term.page == page]
        if own:
            st.markdown("\n\n".join(glossary.entry(term) for term in own))
