"""Links from the names of works, author and year, to the bibliography."""

import re

import streamlit as st

from encoder.words.references import REFERENCES
from pages.state import links

#: "Clark et al. 2019" and "Clark et al. (2019)", not inside a link.
CITED = re.compile(
    "(?<![\\[\\w])("
    + "|".join(re.escape(name) for name in sorted({one.authors for one in REFERENCES}, key=len, reverse=True))
    + r"),?(?: (\d{4})| \((\d{4})(?:\)|(?=[,;])))(?![\w\]])"
)


def cited(text: str) -> str:
    """Markdown in which each "Author year" links to its entry; the title of the work is the link's tooltip."""
    if not links.exists("glossary"):
        return text

    def link(found: re.Match[str]) -> str:
        year = int(found[2] or found[3])
        reference = next((one for one in REFERENCES if (one.authors, one.year) == (found[1], year)), None)
        return found[0] if reference is None else f'[{found[0]}](glossary?cited={reference.key} "{reference.title}")'

    return CITED.sub(link, text)


def markdown(text: str) -> None:
    """`st.markdown` with these links."""
    st.markdown(cited(text))


def caption(text: str) -> None:
    """`st.caption` with these links."""
    st.caption(cited(text))
