"""What goes with every page: found by name, called in order, and left out without a trace."""

import contextlib
from collections.abc import Iterator

import pytest
import streamlit as st

from pages.core.frame import companions, finding, frame
from pages.core.frame.companions import Companion, Entry, Visit, Visits
from pages.state import state
from pages.teaching.companion import COMPANION
from tests.pages.apps import visit


class Told(Visit):
    def __init__(self, name: str, said: list[str], *, shows: bool) -> None:
        self.name, self.said, self.shows = name, said, shows

    @contextlib.contextmanager
    def beside(self) -> Iterator[bool]:
        self.said.append(f"{self.name} begins")
        yield self.shows
        self.said.append(f"{self.name} ends")

    def after(self) -> None:
        self.said.append(f"after {self.name}")


class Telling(Companion):
    def __init__(self, name: str, said: list[str], *, shows: bool = True) -> None:
        self.of = Told(name, said, shows=shows)

    def visit(self, page: str, area: object) -> Visit:
        return self.of


def visits(monkeypatch: pytest.MonkeyPatch, *those: Companion) -> Visits:
    monkeypatch.setattr(companions, "companions", lambda: those)
    return Visits("heads", st.container())


def test_the_companion_of_a_class_is_found_by_the_name_of_its_file():
    assert companions.companions() == (COMPANION,)


def test_the_first_companion_is_around_the_others(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    all_of_them = visits(monkeypatch, Telling("room", said), Telling("lesson", said))
    with all_of_them.beside() as is_shown:
        assert is_shown
        said.append("page")
    all_of_them.after()
    assert said == ["room begins", "lesson begins", "page", "lesson ends", "room ends", "after room", "after lesson"]


def test_a_companion_that_takes_the_place_of_the_page_takes_that_of_the_others(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    with visits(monkeypatch, Telling("room", said, shows=False), Telling("lesson", said)).beside() as is_shown:
        assert not is_shown
    assert said == ["room begins", "room ends"]


def test_the_search_has_the_entries_of_companions():
    frame.import_params()
    entries = list(COMPANION.entries())
    assert entries
    assert all(isinstance(entry, Entry) and set(entry.values) <= set(state.params) for entry in entries)
    found = [entry for entry in finding._entries({}) if entry["kind"] in {one.kind for one in entries}]
    assert [entry["title"] for entry in found] == [entry.title for entry in entries]


def test_a_page_opens_without_companions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(companions, "companions", lambda: ())
    app = visit("heads")
    assert not app.exception
    assert app.title[0].value == "Heads"
