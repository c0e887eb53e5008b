"""What goes with every page and is not a page, such as a lesson and a class's room.

A folder of pages/ with a `companion.py` has one: an object `COMPANION` of a class derived from `Companion`. The app
finds it by this name, as it finds params.py, so no shared room names what it accompanies. A `companion.py` is imported
before the first paint: what needs the engine is imported in its methods.
"""

import contextlib
import importlib
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from starlette.types import ASGIApp
from streamlit.delta_generator import DeltaGenerator

PAGES = Path(__file__).parents[2]


@dataclass(frozen=True)
class Entry:
    """What the search finds. kind, title, detail: as shown; page: its folder, "" for any; values: as in a link; steps:
    lines below the entry.
    """

    kind: str
    title: str
    detail: str
    page: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()


class Visit:
    """What a companion does in one run of one page. Does nothing by itself."""

    def first_view(self) -> None:
        """The session has read its first address, and nothing is drawn yet."""

    def is_shared(self) -> bool:
        """Whether a selection here is for others, or theirs is for this session: then every run is whole."""
        return False

    @contextlib.contextmanager
    def beside(self) -> Iterator[bool | None]:
        """Draw what is above and next to the page, which is drawn in this context.

        False: it is not drawn now; None: nor are its input and controls, since something else fills the window.
        """
        yield True

    def after(self) -> None:
        """The page has been drawn, or an error in its place."""


class Companion:
    """Goes with every page. Each method does nothing by itself."""

    def middleware(self, app: ASGIApp, base_url: str) -> ASGIApp:
        """What answers its own addresses around the app."""
        return app

    def warm(self) -> None:
        """Load what every visit needs, before a process behind a front listens."""

    def before(self, page: str) -> None:
        """A run begins, before the frame is drawn. page: the folder of the page that the address names."""

    def visit(self, page: str, area: DeltaGenerator) -> Visit:
        """The run of a page begins to draw. area: above and around the page."""
        return Visit()

    def version(self) -> tuple[Hashable, ...]:
        """What changes when `entries` changes."""
        return ()

    def entries(self) -> Iterable[Entry]:
        """What the search finds of it."""
        return ()

    def open(self, values: Mapping[str, str]) -> bool:
        """Open an entry by its values, in a callback; False: it is not one of these."""
        return False


@cache
def companions() -> tuple[Companion, ...]:
    """All companions of this app, by the names of their folders."""
    folders = sorted(path.parent.name for path in PAGES.glob("*/companion.py"))
    return tuple(importlib.import_module(f"pages.{folder}.companion").COMPANION for folder in folders)


class Visits(Visit):
    """The visits of all companions to one page, the first one around the others."""

    def __init__(self, page: str, area: DeltaGenerator) -> None:
        self._all = [one.visit(page, area) for one in companions()]

    def first_view(self) -> None:
        for one in self._all:
            one.first_view()

    def is_shared(self) -> bool:
        return any(one.is_shared() for one in self._all)

    @contextlib.contextmanager
    def beside(self) -> Iterator[bool | None]:
        with ExitStack() as stack:
            is_shown: bool | None = True
            for one in self._all:
                is_shown = is_shown and stack.enter_context(one.beside())
            yield is_shown

    def after(self) -> None:
        for one in self._all:
            one.after()
