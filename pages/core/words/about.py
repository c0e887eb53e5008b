"""Longer texts of a page, in `about.md` of its folder: what is known, how something is measured, its limits."""

import re
from functools import cache
from pathlib import Path

import streamlit as st

from pages.core.words.references import cited


@cache
def _sections(file: Path) -> dict[str, str]:
    """Heading -> text below it."""
    parts = re.split("^## ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {heading.strip(): text.strip() for heading, _, text in (part.partition("\n") for part in parts)}


def titled(page: str) -> dict[str, str]:
    """The sections of a page that have a title: title -> first sentence, in plain words. page: its folder."""
    file = Path(__file__).parents[2] / page / "about.md"
    sections = _sections(file) if file.is_file() else {}
    return {heading: _first_sentence(text) for heading, text in sections.items() if heading[0].isupper()}


def _first_sentence(text: str) -> str:
    """The first sentence of Markdown, without its marks; a value that is not known yet is left out."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text.split("\n\n")[0].replace("\n", " "))
    plain = re.sub(r"[*$`\\]|\{\w+\}", "", plain)
    return re.split(r"(?<=[.?!])\s+(?=[A-Z])", plain)[0]


def text(script: str, heading: str, **values: object) -> str:
    """The text below a heading, with links to the works that it names.

    script: `__file__` of a module of the page; values: what replaces {name} in the text.
    """
    found = _sections(Path(script).with_name("about.md"))[heading]
    for name, value in values.items():
        found = found.replace(f"{{{name}}}", str(value))
    return cited(found)


def expander(script: str, heading: str, icon: str | None = None, **values: object) -> None:
    """The text behind its heading, closed at first."""
    with st.expander(heading, icon=icon):
        st.markdown(text(script, heading, **values))
