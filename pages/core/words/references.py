"""The bibliography, from `references.md`: works that pages name by author and year, and the links to them."""

import re
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from pages.state import links


@dataclass(frozen=True)
class Reference:
    """One work. authors, year: as pages name it; showed: what it showed, and on which models."""

    authors: str
    year: int
    title: str
    venue: str
    address: str
    showed: str

    @property
    def key(self) -> str:
        """Its name in the address."""
        return f"{self.authors.split()[0].strip(',').lower()}-{self.year}"

    @property
    def name(self) -> str:
        """As pages name it."""
        return f"{self.authors} {self.year}"

    def entry(self) -> str:
        """The work in Markdown, as the file has it."""
        return f"**{self.name}**. *{self.title}*. [{self.venue}]({self.address})  \n{self.showed}"


_ENTRY = re.compile(r"\*\*(.+) (\d{4})\*\*\. \*(.+)\*\. \[(.+)\]\((.+)\)  \n(.+)")
REFERENCES = tuple(
    Reference(authors, int(year), *rest)
    for authors, year, *rest in _ENTRY.findall(Path(__file__).with_name("references.md").read_text(encoding="utf-8"))
)
BY_KEY = {reference.key: reference for reference in REFERENCES}
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
