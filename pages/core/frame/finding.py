"""What the search of the bar finds: the registries of pages, terms, models, examples and values of pages,
and what companions such as lessons add."""

import contextlib
from collections.abc import Iterable, Mapping

from encoder.checkpoints import BUNDLED
from encoder.words.glossary import TERMS
from pages.components.find import find
from pages.components.headers import FindEntry
from pages.core.frame import companions
from pages.core.frame.navigation import Page
from pages.core.stores import cache
from pages.core.view import SOURCES, ViewParams, selection
from pages.core.widgets import examples
from pages.state import links, state
from pages.state.former import current

#: Values of every page that the search offers, each with its name.
_SHARED = {ViewParams.norm: "Norm placement", ViewParams.colours: "Colours of the maps"}


def draw(groups: Mapping[str, Iterable[Page]]) -> None:
    """Draw the search, closed. groups: the pages of the bar."""
    # What may change while the server runs.
    of = ("find", len(state.params), *(one.version() for one in companions.companions()))
    find(cache.computed(of, lambda: list(_entries(groups))), key="find", on_open=_open)


def _entries(groups: Mapping[str, Iterable[Page]]) -> Iterable[FindEntry]:
    names = {}
    for group, pages in groups.items():
        for page in pages:
            names[page.folder] = page.name
            same = page.title if page.title != page.name else ""
            yield _entry("Page", page.name, " · ".join(filter(None, (group, same, page.help))), page.folder)
    for term in TERMS:
        yield _entry("Term", term.name, term.definition, "glossary", term=term.key)
    for companion in companions.companions():
        for one in companion.entries():
            yield _entry(one.kind, one.title, one.detail, one.page, **one.values)
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


def _entry(kind: str, title: str, detail: str, page: str, **values: str) -> FindEntry:
    if page:
        values = current({"page": page, **values})
        page = values.pop("page")
    return {"kind": kind, "title": title, "detail": detail, "page": page, "values": values}


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
