"""The glossary's terms, from `glossary.md`; links to them from words, and the terms in Markdown."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import streamlit as st

from pages.core.words.references import cited
from pages.state import links


@dataclass(frozen=True)
class Term:
    """One term.

    definition: two sentences without markup, which are also the tooltip of a link; page: the folder of the page where
    you see it; more: a formula (in dollars) or a number; words: other spellings; source: the paper that it is from.
    """

    name: str
    definition: str
    page: str
    more: str = ""
    words: tuple[str, ...] = ()
    source: str = ""

    @property
    def key(self) -> str:
        """Its name in the address."""
        return self.name.lower().replace(" ", "-").replace("_", "-")


def _term(entry: str) -> Term:
    """A term as the file has it: its name, its definition, perhaps a formula or a number, then named lines."""
    name, definition, *lines = filter(None, map(str.strip, entry.splitlines()))
    named = dict(line.split(": ", 1) for line in lines if line.startswith(("Also: ", "Source: ", "Page: ")))
    more = next((line for line in lines if line.partition(": ")[0] not in named), "")
    words = tuple(named["Also"].split(", ")) if "Also" in named else ()
    return Term(name, definition, named["Page"], more, words, named.get("Source", ""))


def _groups(text: str) -> dict[str, tuple[Term, ...]]:
    groups = (re.split("^### ", part, flags=re.MULTILINE) for part in re.split("^## ", text, flags=re.MULTILINE)[1:])
    return {name.strip(): tuple(map(_term, entries)) for name, *entries in groups}


#: Group -> its terms, in an order in which they can be read.
GROUPS = _groups(Path(__file__).with_name("glossary.md").read_text(encoding="utf-8"))
TERMS = tuple(term for terms in GROUPS.values() for term in terms)
BY_KEY = {term.key: term for term in TERMS}

#: More links than this in an opening would hide what it says.
MOST_LINKS = 3
#: Where the session keeps the place of the open page's question.
_QUESTION = "_question_place"
#: Names, formulas, code, links and coloured words are left as they are.
_PROTECTED = re.compile(r"(\*\*.+?\*\*|`[^`]*`|\$[^$]*\$|!?\[[^\]]*\]\([^)]*\)|:\w+\[[^\]]*\])", re.DOTALL)
_BY_WORD = {word.lower(): term for term in TERMS for word in (term.name, *term.words)}
#: Longer words first: “attention sink” is one term. "[MASK]" is not a use of “mask”.
_WORDS = re.compile(
    r"(?<![\w\[-])(" + "|".join(re.escape(word) for word in sorted(_BY_WORD, key=len, reverse=True)) + r")(?![\w\]-])",
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
    st.session_state[_QUESTION] = place = st.empty()
    place.caption(linked(text), width="content", help=linked(about) if about else None)


def opening(text: str) -> None:
    """Replace the page's question by a more exact one, of a part of the page or of this model."""
    place = st.session_state.pop(_QUESTION, None) or st
    place.caption(linked(text))


def _linker(seen: set[str], most: int) -> Callable[[re.Match[str]], str]:
    def link(found: re.Match[str]) -> str:
        term = _BY_WORD[found.group().lower()]
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
