"""What the search of the bar finds: the registries of pages, terms, lessons, models, examples and values of pages."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

from encoder.load import BUNDLED
from pages.components.find import find
from pages.core.frame.navigation import Page
from pages.core.stores import cache
from pages.core.view import SOURCES, ViewParams, selection
from pages.core.widgets import examples
from pages.core.words.glossary_terms import TERMS
from pages.state import links, state
from pages.state.former import current
from pages.teaching.lessons import library, progress

#: Values of every page that the search offers, each with its name.
_SHARED = {ViewParams.norm: "Norm placement", ViewParams.colours: "Colours of the maps"}


def draw(groups: Mapping[str, Iterable[Page]]) -> None:
    """Draw the search, closed. groups: the pages of the bar."""
    of = ("find", len(state.params), *map(id, library.lessons()[0]))  # what may change while the server runs
    find(cache.computed(of, lambda: list(_entries(groups))), key="find", on_open=_open)


def _entries(groups: Mapping[str, Iterable[Page]]) -> Iterable[dict[str, Any]]:
    names = {}
    for group, pages in groups.items():
        for page in pages:
            names[page.folder] = page.name
            same = page.title if page.title != page.name else ""
            yield _entry("Page", page.name, " · ".join(filter(None, (group, same, page.help))), page.folder)
    for term in TERMS:
        yield _entry("Term", term.name, term.definition, "glossary", term=term.key)
    for lesson in library.lessons()[0]:
        for number, step in lesson.numbered():
            title = lesson.title if number == lesson.first else step.title
            values = {"lesson": lesson.name, "lesson_step": str(number)}
            yield _entry("Lesson", title, f"{lesson.title}, step {number}", "", **values)
    for name in BUNDLED:
        yield _entry("Model", SOURCES[name], f"Runs {name} on your input", "", model=name)
    for title, values in examples.read(__file__, "text").items():
        yield _entry("Example", str(values["text"]), title, "", text=str(values["text"]))
    for param, said in _SHARED.items():
        for option in param.options:
            yield _entry("Setting", option, said, "", **{param.name: option})
    for name, param in state.params.items():
        page = state.owner(param).split(".")[1]
        for option in filter(None, param.options if page in names and page != "glossary" else ()):
            yield _entry("Setting", option, f"{names[page]}: {name}", page, **{name: option})


def _entry(kind: str, title: str, detail: str, page: str, **values: str) -> dict[str, Any]:
    if page:
        values = current({"page": page, **values})
        page = values.pop("page")
    return {"kind": kind, "title": title, "detail": detail, "page": page, "values": values}


def _open(page: str, values: Mapping[str, str]) -> None:
    """Open what was chosen; a value that is not one of its page is left out."""
    lesson, number = library.find(values.get("lesson", "")), values.get("lesson_step", "1")
    if lesson is not None and number.isascii() and number.isdigit() and lesson.nearest(int(number)) == int(number):
        progress.open_step(lesson, int(number))
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
