"""Params: what they take from a link, and the sentence for what they do not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.core.frame import input_row
from pages.core.widgets import examples
from pages.state import kept, params, url_state
from pages.state.url_state import _digest
from tests.pages.apps import registered, sentences, visit

pytestmark = pytest.mark.sample(3, "another address or input of the same page")


@pytest.mark.parametrize(
    ("param", "text", "value"),
    [
        (params.whole_number(0), "7", 7),
        (params.whole_number(0, 1, 24), "24", 24),
        (params.choice("a", ("a", "b")), "b", "b"),
        (params.flag(), "1", True),
        (params.flag(), "0", False),
    ],
)
def test_values_are_read_and_written_alike(param: params.Param, text: str, value: object) -> None:
    assert param.parse(text) == value
    assert param.format(value) == text


@pytest.mark.parametrize(
    ("param", "text", "reason"),
    [
        (params.whole_number(0), "seven", "whole number"),
        (params.whole_number(0), "1.5", "whole number"),
        (params.whole_number(0), "٣", "whole number"),
        (params.whole_number(0), "9" * 400, "whole number"),
        (params.whole_number(0), "-1", "0 or more"),
        (params.whole_number(0, 1, 24), "25", "between 1 and 24"),
        (params.choice("a", ("a", "b")), "z", "a, b"),
        # exBERT read every text as true: `truthy(...) or True`.
        (params.flag(), "false", r"\b1\b.*\b0\b"),
    ],
)
def test_a_bad_value_has_a_reason(param: params.Param, text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        param.parse(text)


FINITE = st.floats(-1e6, 1e6).map(lambda value: float(f"{value:g}"))  # an address keeps six digits
#: Both ends of a side of a zoom window, with two decimals, as an address has them.
EDGES = st.lists(st.integers(-500, 99_950), min_size=2, max_size=2, unique=True).map(
    lambda ends: [end / 100 for end in sorted(ends)]
)
HEADS = st.tuples(st.integers(0, 99), st.integers(0, 99))


@given(data=st.data())
@pytest.mark.parametrize(
    ("param", "values"),
    [
        (params.string(), st.text()),
        (params.choice("a", ("a", "b", "c d")), st.sampled_from(["a", "b", "c d"])),
        (params.several(["x"], "xyz"), st.sets(st.sampled_from("xyz"), min_size=1).map(sorted)),
        (params.flag(), st.booleans()),
        (params.whole_number(None, 0, 999_999), st.integers(0, 999_999)),
        (params.number(0.0, -1e6, 1e6), FINITE),
        (params.span(), st.none() | st.lists(FINITE, min_size=2, max_size=2).map(lambda ends: tuple(sorted(ends)))),
        (params.token_positions(8), st.sets(st.integers(0, 9_999), max_size=8).map(sorted)),
        (params.zoom_window(), st.none() | st.tuples(EDGES, EDGES).map(lambda sides: {"x": sides[0], "y": sides[1]})),
        (params.heads(4), st.lists(HEADS, max_size=4, unique=True)),
    ],
    ids=lambda value: "" if isinstance(value, params.Param) else str(value)[:20],
)
def test_a_value_survives_its_way_through_an_address(
    param: params.Param, values: st.SearchStrategy, data: st.DataObject
) -> None:
    value = data.draw(values)
    assert param.parse(param.format(value)) == value


@given(text=st.text(max_size=40))
def test_any_text_of_an_address_is_a_value_or_a_value_error(text: str) -> None:
    for param in registered().values():
        try:
            value = param.parse(text)
        except ValueError:
            continue
        assert param.parse(param.format(value)) == value


def test_defaults_survive_their_own_writing() -> None:
    for param in registered().values():
        if param.default is not None:
            assert param.parse(param.format(param.default)) == param.default


def test_a_name_belongs_to_one_page() -> None:
    @dataclass(frozen=True)
    class Own:
        text: params.Param[str] = params.string()

    registered()
    with pytest.raises(ValueError, match="text"):
        url_state.state.register(Own)


def test_values_come_as_an_object_with_the_declared_defaults() -> None:
    @dataclass(frozen=True)
    class Own:
        share: params.Param[float] = params.number(0.5, 0.0, 1.0, url="own_share")
        words: params.Param[bool] = params.flag()

    assert (Own.share.name, Own.words.name) == ("own_share", "words")
    own = Own(words=True)
    assert (own.share, own.words) == (0.5, True)
    assert Own(words=True) == own != Own()
    with pytest.raises(FrozenInstanceError):
        own.words = False  # type: ignore[misc]


def test_every_example_differs() -> None:
    texts = [one["text"] for group in ("text", "dates") for one in examples.read(input_row.__file__, group).values()]
    assert len(set(texts)) == len(texts)


class Address(dict):
    """Query parameters of a browser."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)

    def from_dict(self, values: dict[str, str]) -> None:
        self.clear()
        self.update(values)


class Session(Address):
    """The session's state."""


class Browser:
    """A session of one value, `layer`, whose widget's content arrives with each event, as Streamlit has it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.session = Session()
        self.address = Address()
        fake = SimpleNamespace(session_state=self.session, query_params=self.address)
        monkeypatch.setattr(url_state, "st", fake)
        self.state = url_state.UrlState()

        @self.state.register
        @dataclass(frozen=True)
        class Values:
            layer: params.Param[int] = params.whole_number(0)

        self.layer = Values.layer

        self.run(sends=None)

    def run(self, sends: int | None, by: Callable[[], None] | None = None, whole: bool = True) -> int:
        """One run: the widget's content arrives, the callback, the script; its widgets are drawn if it is whole."""
        if sends is not None:
            self.session["view:layer"] = sends
        if by is not None:
            by()
        self.state.begin()
        shown = self.state.get(self.layer)
        if whole:
            shown = self.state.bound(lambda key: self.session[key], self.layer)
        self.state.end(is_whole=whole)
        return shown


def test_a_value_set_by_a_click_is_kept_after_an_event_that_the_browser_sent_before_it_knew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = Browser(monkeypatch)
    click = lambda: browser.state.put(browser.layer, 4)  # noqa: E731
    browser.run(sends=0, by=click, whole=False)  # a click, and its run is stopped by the next event
    assert browser.run(sends=0) == 4, "the next event still brings what the widget held before the click"
    assert browser.run(sends=4) == 4
    assert browser.run(sends=0) == 0, "what a person sets back is set back"


def test_a_part_of_the_page_sees_what_else_has_changed_and_keeps_the_widgets_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0)
    browser.state.put(browser.layer, 4)
    browser.state.begin(part=True)
    assert browser.state.has_changed(besides=[])
    assert not browser.state.has_changed(besides=[browser.layer])
    browser.state.end()
    assert browser.session["view:layer"] == 4, "the widget that the last whole run drew"
    assert browser.address == {"layer": "4"}


def test_a_late_event_of_a_component_does_not_undo_a_click(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put(browser.layer, 4))
    assert browser.run(sends=0, by=url_state.touch) == 4, "sent before the answer to the click had arrived"
    assert browser.run(sends=4) == 4
    assert browser.run(sends=0, by=url_state.touch) == 0


def test_two_clicks_in_a_row_end_with_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put(browser.layer, 4), whole=False)
    browser.run(sends=0, by=lambda: browser.state.put(browser.layer, 5), whole=False)
    assert browser.run(sends=0) == 5
    assert browser.run(sends=5) == 5


def test_a_person_may_set_a_value_back_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put(browser.layer, 4))
    assert browser.run(sends=0) == 0


def test_an_old_address_undoes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a request that the browser sent before it had the answer, or repeats: as with an answer in a class."""
    browser = Browser(monkeypatch)
    browser.run(sends=None, by=lambda: browser.state.put(browser.layer, 4))
    browser.run(sends=4, by=lambda: browser.state.put(browser.layer, 5))
    browser.address["layer"] = "4"
    assert browser.run(sends=5) == 5
    browser.address |= {"layer": "4", url_state.MOVE: "1"}
    assert browser.run(sends=5) == 4, "Back"


def test_back_to_an_address_without_values_brings_all_defaults_and_a_change_of_pages_keeps_them() -> None:
    app = visit("heads", text="typed words", view="lines", layer="2")
    for name in list(app.query_params):
        del app.query_params[name]
    app.run()  # as after a click on a page's name
    assert app.query_params["text"] == "typed words"
    assert app.query_params["view"] == "lines"
    for name in list(app.query_params):
        del app.query_params[name]
    app.query_params[url_state.MOVE] = "1"  # as after Back
    app.run()
    assert not app.query_params
    default = registered()["text"].default
    assert app.text_area(key="view:text").value == default


@pytest.mark.parametrize("sends", list(itertools.product((0, 4), repeat=3)), ids=str)
@pytest.mark.parametrize("stopped", [(), (1,), (0, 1)], ids=["no run stopped", "the second run", "both runs"])
def test_a_move_decides_over_what_the_browser_still_shows(
    sends: tuple[int, ...], stopped: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Back, Forward and Back in less time than the browser takes to draw the answers."""
    browser = Browser(monkeypatch)
    browser.run(sends=0, by=lambda: browser.state.put(browser.layer, 4))
    browser.run(sends=4)
    for move, address in enumerate(({}, {"layer": "4"}, {})):
        browser.address.clear()
        browser.address.update(address | {url_state.MOVE: str(move)})
        shown = browser.run(sends[move], whole=move not in stopped)
        assert shown == int(address.get("layer", 0))
        assert browser.address == address
    browser.address[url_state.MOVE] = "2"  # a click, sent before the browser had the answer
    assert browser.run(sends=3) == 3


def test_a_text_too_long_for_the_address_comes_back() -> None:
    long = "attention is all you need " * 300
    app = visit(text="short")
    app.text_area(key="view:text").set_value(long).run()
    digest = app.query_params["kept_text"]
    assert "text" not in app.query_params
    app.text_area(key="view:text").set_value("short").run()
    assert "kept_text" not in app.query_params
    del app.query_params["text"]
    app.query_params["kept_text"] = digest
    app.query_params[url_state.MOVE] = "1"  # Back
    app.run()
    assert app.text_area(key="view:text").value == long
    assert app.query_params["kept_text"] == digest


def test_a_session_takes_the_long_text_that_the_browser_kept() -> None:
    long = "attention is all you need " * 300
    digest = _digest(long)
    app = visit(kept_text=digest, kept=kept.give({"texts": {digest: long, "of another": "text"}}))
    assert app.text_area(key="view:text").value == long
    assert app.query_params["kept_text"] == digest
    assert "kept" not in app.query_params
    for said in ({}, {"texts": {"0123": long}}):
        app = visit(kept_text="0123", kept=kept.give(said))
        assert not app.exception
        assert "kept_text" not in app.query_params
        assert "Paste" in sentences(app)


def accepts_any_text(param: params.Param) -> bool:
    try:
        return bool(param.parse("My own sentence, no. 1: never share it!"))
    except ValueError:
        return False


@pytest.mark.parametrize("name", sorted(registered()))
def test_free_text_is_typed_or_says_why_not(name: str) -> None:
    param = registered()[name]
    if accepts_any_text(param):
        assert param.typed != bool(param.public)
    else:
        assert not param.public


def test_a_value_of_a_link_does_not_come_back_after_it_was_changed() -> None:
    def page() -> None:
        import streamlit as st

        from pages.state.url_state import state
        from pages.texts.params import Params

        state.begin()
        if st.session_state.get("shown"):
            state.bound(st.text_input, Params.query, "Query")
        state.end()

    app = AppTest.from_function(page)
    app.query_params["query"] = "fish"
    app.run()
    app.session_state["shown"] = True
    assert app.run().text_input[0].value == "fish"
    app.text_input[0].set_value("rain").run()
    app.session_state["shown"] = False
    app.run()
    app.session_state["shown"] = True
    assert app.run().text_input[0].value == "rain"


def test_a_run_that_was_stopped_while_it_began_leaves_defaults() -> None:
    """A message after it, such as a greeting of the room's line, reads values before the next run has begun."""

    def script() -> None:
        import streamlit as st

        from pages.core.view.view import ViewParams
        from pages.state import url_state
        from pages.teaching.params import RoomParams

        st.session_state[url_state._SESSION] = url_state._Session()
        st.text(repr((url_state.state.get(RoomParams.code), url_state.state.newest(ViewParams.layer))))

    app = AppTest.from_function(script).run()
    assert not app.exception
    assert app.text[0].value == "('', 0)"


def test_widgets_that_no_page_has_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    browser = Browser(monkeypatch)
    browser.session[f"{url_state._PREFIX}unknown"] = 3
    assert browser.run(sends=4) == 4
    assert browser.state.newest_of_all() == {"layer": 4}
