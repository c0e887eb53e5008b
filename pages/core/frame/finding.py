"""What the search of the bar finds: the registries of pages, terms, models, examples, documents, types and measures of
heads, controls by the questions that they answer (how_to.yml), and what companions such as lessons add."""

import contextlib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import cache as once
from pathlib import Path
from typing import Any

import streamlit as st
import yaml

from encoder.checkpoints import BUNDLED
from encoder.measure import head_definitions, head_types
from encoder.words.glossary import TERMS
from pages.components.find import ask, find, index
from pages.components.headers import FindEntry
from pages.core.frame import companions, meaning
from pages.core.frame.navigation import Page
from pages.core.stores import cache
from pages.core.view import SOURCES, ViewParams, selection
from pages.core.widgets import examples
from pages.core.words import about
from pages.state import links, state
from pages.state.former import current

#: Values of every page that the search offers, each with its name.
_SHARED = {ViewParams.norm: "Norm placement", ViewParams.colours: "Colours of the maps"}


#: Of the session: the question that is not answered yet.
_QUESTION = "_find_question"


def draw(groups: Mapping[str, Iterable[Page]], here: str) -> None:
    """Draw the search, closed. groups: the pages of the bar; here: the folder of the open page."""
    find(cache.computed((*_version(), "file"), lambda: index(_entries_of(groups))), key="find", on_open=_open)
    _answers(groups, here)


@st.fragment
def _answers(groups: Mapping[str, Iterable[Page]], here: str) -> None:
    """Answer the question that the browser has sent. A fragment: the page does not run again."""
    question = st.session_state.pop(_QUESTION, None)
    answer = None if question is None else meaning.answer(_entries_of(groups), _version(), question)
    ask(answer, here=here, key="ask", on_ask=_ask)


def _ask(question: str) -> None:
    st.session_state[_QUESTION] = question


def _version() -> tuple[Hashable, ...]:
    """What may change the entries while the server runs."""
    return ("find", len(state.params), *(one.version() for one in companions.companions()))


def _entries_of(groups: Mapping[str, Iterable[Page]]) -> list[FindEntry]:
    found: list[FindEntry] = cache.computed(_version(), lambda: list(_entries(groups)))
    return found


@once
def _how_to() -> tuple[Mapping[str, Any], ...]:
    return tuple(yaml.safe_load(Path(__file__).with_name("how_to.yml").read_text(encoding="utf-8")))


def _entries(groups: Mapping[str, Iterable[Page]]) -> Iterable[FindEntry]:
    names = {}
    for group, pages in groups.items():
        for page in pages:
            names[page.folder] = page.name
            same = page.title if page.title != page.name else ""
            yield _entry("Page", page.name, " · ".join(filter(None, (group, same, page.help))), page.folder)
            yield from _documents(page)
    for term in TERMS:
        yield _entry("Term", term.name, term.definition, "glossary", term=term.key)
    for companion in companions.companions():
        for one in companion.entries():
            yield {**_entry(one.kind, one.title, one.detail, one.page, **one.values), "steps": list(one.steps)}
    for one in _how_to():
        values = {name: str(value) for name, value in one.get("values", {}).items()}
        entry = _entry("Control", one["title"], one["asks"], one.get("page", ""), one.get("control", ""), **values)
        yield {**entry, "steps": [_plain(step) for step in one.get("steps", ())]}
    for name in BUNDLED:
        yield _entry("Model", SOURCES[name], f"Runs {name} on your input", "", model=name)
    for title, values in examples.read(__file__, "text").items():
        yield _entry("Example", str(values["text"]), title, "", text=str(values["text"]))
    for head_type in head_types.HEAD_TYPES:
        values = {"all_heads": "roles", "role": head_type.name}
        yield _entry("Head type", head_type.title, head_type.sentence, "heads", **values)
    for name, measure in head_definitions.BY_NAME.items():
        yield _entry("Measure", f"Heads by measure: {measure.title}", measure.sentence, "heads", measure=name)
    for param, said in _SHARED.items():
        for option in param.options:
            yield _entry("Setting", f"{said}: {option}", "On every page", "", **{param.name: option})


def _documents(page: Page) -> Iterator[FindEntry]:
    """The longer texts of a page that have a title: methods, sources and limits."""
    for heading, text in about.titled(page.folder).items():
        yield _entry("Document", heading, f"{page.name}: {text}", page.folder)


def _entry(kind: str, title: str, detail: str, page: str, control: str = "", /, **values: str) -> FindEntry:
    if page:
        values = current({"page": page, **values})
        page = values.pop("page")
    return {
        "kind": kind,
        "title": title,
        "detail": detail,
        "page": page,
        "values": values,
        "control": control,
        "steps": [],
    }


def _plain(step: str) -> str:
    """Markdown of a document without its marks, and without its links, which lead to other documents."""
    return re.sub(r"\*\*|`", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", step))


def _open(page: str, values: Mapping[str, str]) -> None:
    """Open what was chosen; a value that is not one of its page is left out."""
    if any(companion.open(values) for companion in companions.companions()):
        return
    place = {}
    for name, text in values.items():
        param = state.params.get(name)
        with contextlib.suppress(ValueError):
            if param is not None:
                place[param] = param.parse(text)
    for param, value in place.items():
        state.put(param, value)
    if ViewParams.layer in place and ViewParams.head in place:
        selection.open_head(place[ViewParams.layer], place[ViewParams.head])
    elif ViewParams.text in place:
        selection.clear()
    if page and links.exists(page):
        links.open_later(page)
