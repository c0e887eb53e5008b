"""Links from words to the terms of the glossary, and the terms in Markdown."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import streamlit as st

from encoder.words.glossary import BY_WORD, Term
from pages.core.words.references import cited
from pages.state import links
from pages.state.bare import is_bare

#: More links than this in an opening would hide what it says.
MOST_LINKS = 3
#: Where the session keeps the place of the open page's question.
_QUESTION = "_question_place"
#: Names, formulas, code, links and coloured words are left as they are.
_PROTECTED = re.compile(r"(\*\*.+?\*\*|`[^`]*`|\$[^$]*\$|!?\[[^\]]*\]\([^)]*\)|:\w+\[[^\]]*\])", re.DOTALL)
#: Longer words first: “attention sink” is one term. "[MASK]" is not a use of “mask”.
_WORDS = re.compile(
    r"(?<![\w\[-])(" + "|".join(re.escape(word) for word in sorted(BY_WORD, key=len, reverse=True)) + r")(?![\w\]-])",
    re.IGNORECASE,
)


def linked(text: str, most: int = MOST_LINKS) -> str:
    """Markdown in which the first use of each term, of the first `most` terms, links to its definition.

    The definition is the link's title, so a pointer over the word shows it. Without a glossary page, `text` itself.
    """
    return _linked(cited(text), most) if links.exists("glossary") else text


@lru_cache(1_000)
def _linked(text: str, most: int) -> str:
    seen: set[str] = set()
    parts = _PROTECTED.split(text)
    parts[::2] = [_WORDS.sub(_linker(seen, most), part) for part in parts[::2]]
    return "".join(parts)


def question(text: str, about: str = "") -> None:
    """Draw the question that a page's picture answers, with links to the glossary. about: help next to it."""
    st.session_state[_QUESTION] = st.empty(), about
    _draw(*st.session_state[_QUESTION], text)


def opening(text: str) -> None:
    """Replace the page's question by a more exact one, of a part of the page or of this model."""
    place, about = st.session_state.pop(_QUESTION, (st, ""))
    if not is_bare():  # where no question was drawn: the place is of a page before
        _draw(place, about, text)


def _draw(place: Any, about: str, text: str) -> None:
    place.caption(linked(text), width="content", help=linked(about) if about else None)


def _linker(seen: set[str], most: int) -> Callable[[re.Match[str]], str]:
    def link(found: re.Match[str]) -> str:
        term = BY_WORD[found.group().lower()]
        if term.key in seen or len(seen) == most:
            return found.group()
        seen.add(term.key)
        return f'[{found.group()}](glossary?term={term.key} "{term.definition}")'

    return link


def entry(term: Term) -> str:
    """A term in Markdown: its name, definition, formula or number, and source."""
    more = re.sub(r"\]\(#([\w-]+)\)", r"](glossary?term=\1)", term.more)
    source = f"Source: {term.source}." if term.source else ""
    lines = (f"**{_escaped(term.name)}**", _escaped(term.definition), more, source)
    return cited("  \n".join(filter(None, lines)))


def _escaped(text: str) -> str:
    """Plain text inside Markdown."""
    return re.sub(r"([_\[\]<>*#])", r"\\\1", text)
