"""Params: what they take from a link, and the sentence for what they do not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from pages.shared import url_state
from pages.shared.view import EXAMPLES, PARAMS


@pytest.mark.parametrize(
    ("param", "text", "value"),
    [
        (url_state.whole_number("n", 0), "7", 7),
        (url_state.whole_number("n", 0, 1, 24), "24", 24),
        (url_state.choice("c", "a", ("a", "b")), "b", "b"),
        (url_state.flag("f"), "1", True),
        (url_state.flag("f"), "0", False),
    ],
)
def test_values_are_read_and_written_alike(param: url_state.Param, text: str, value: object) -> None:
    assert param.parse(text) == value
    assert param.format(value) == text


@pytest.mark.parametrize(
    ("param", "text", "reason"),
    [
        (url_state.whole_number("n", 0), "seven", "a whole number is needed"),
        (url_state.whole_number("n", 0), "1.5", "a whole number is needed"),
        (url_state.whole_number("n", 0), "٣", "a whole number is needed"),
        (url_state.whole_number("n", 0), "9" * 400, "a whole number is needed"),
        (url_state.whole_number("n", 0), "-1", "it must be 0 or more"),
        (url_state.whole_number("n", 0, 1, 24), "25", "between 1 and 24"),
        (url_state.choice("c", "a", ("a", "b")), "z", "choose one of a, b"),
        # exBERT read every text as true: `truthy(...) or True`.
        (url_state.flag("f"), "false", "1 means on, 0 means off"),
    ],
)
def test_a_bad_value_has_a_reason(param: url_state.Param, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        param.parse(text)


def test_defaults_survive_their_own_writing() -> None:
    for param in PARAMS:
        if param.default is not None:
            assert param.parse(param.format(param.default)) == param.default


def test_names_are_distinct() -> None:
    assert len({param.name for param in PARAMS}) == len(PARAMS)


def test_every_example_differs() -> None:
    assert len(set(EXAMPLES.values())) == len(EXAMPLES)


class Address(dict):
    """Query parameters of a browser."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)

    def from_dict(self, values: dict[str, str]) -> None:
        self.clear()
        self.update(values)


class Browser:
    """A session of one value, `layer`, whose widget's content arrives with each event, as Streamlit has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session: dict[str, object] = {}
        fake = SimpleNamespace(session_state=self.session, query_params=Address())
        monkeypatch.setattr(url_state, "st", fake)
        self.state = url_state.UrlState([url_state.whole_number("layer", 0)])
        self.run(sends=None)

    def run(self, sends: int | None, by: Callable[[], None] | None = None, whole: bool = True) -> int:
        """One run: the widget's content arrives, the callback, the script; its widgets are drawn if it is whole."""
        if sends is not None:
            self.session["view:layer"] = sends
        if by is not None:
            by()
        self.state.begin()
        shown = self.state.get("layer")
        if whole:
            shown = self.state.bound(lambda key: self.session[key], "layer")
            self.state.end()
        return shown


def test_a_value_set_by_a_click_outlives_an_event_that_the_browser_sent_before_it_knew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = Browser(monkeypatch)
    click = lambda: browser.state.put("layer", 4)  # noqa: E731
    browser.run(sends=0, by=click, whole=False)  # a click, and its run is stopped by the next event
    assert browser.run(sends=0) == 4, "the next event still brings what the widget held before the click"
    assert browser.run(sends=4) == 4
    assert browser.run(sends=0) == 0, "what a person sets back is set back"


def test_a_late_event_of_a_component_does_not_undo_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put("layer", 4))
    assert browser.run(sends=0, by=url_state.touch) == 4, "sent before the answer to the click had arrived"
    assert browser.run(sends=4) == 4
    assert browser.run(sends=0, by=url_state.touch) == 0


def test_two_clicks_in_a_row_end_with_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put("layer", 4), whole=False)
    browser.run(sends=0, by=lambda: browser.state.put("layer", 5), whole=False)
    assert browser.run(sends=0) == 5
    assert browser.run(sends=5) == 5


def test_a_person_may_set_a_value_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put("layer", 4))
    assert browser.run(sends=0) == 0
