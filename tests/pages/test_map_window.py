"""Which tokens a zoom window shows, and when it is reset."""

from __future__ import annotations

import pytest

from pages.core.view import map_window
from pages.core.view.map_window import zoomed
from pages.core.view.view import MapParams
from pages.state.params import ZoomWindow
from pages.state.url_state import state


@pytest.mark.parametrize(
    ("side", "tokens"),
    [
        ([-0.5, 99.5], slice(0, 100)),
        ([2.5, 5.5], slice(3, 6)),
        ([2.6, 5.4], slice(3, 6)),  # tokens that are cut count as seen
        ([2.4, 5.6], slice(2, 7)),
        ([-40.0, 400.0], slice(0, 100)),
        ([7.1, 7.2], slice(7, 8)),
        ([400.0, 500.0], slice(99, 100)),
    ],
)
def test_zoom_window_to_tokens(side: list[float], tokens: slice) -> None:
    everything = [-0.5, 99.5]
    assert zoomed({"x": side, "y": everything}, 100) == (slice(0, 100), tokens)
    assert zoomed({"x": everything, "y": side}, 100) == (tokens, slice(0, 100))


def test_no_zoom_shows_all() -> None:
    assert zoomed(None, 7) == (slice(0, 7), slice(0, 7))


def shown(zoom: ZoomWindow | None, tokens: str, *, rows: str | None = None) -> ZoomWindow | None:
    """The zoom window after a map of these tokens was asked for with this window in the address."""
    state.put(MapParams.zoom, zoom)
    map_window.zoom_of(rows or tokens, tokens)
    return state.get(MapParams.zoom)


def test_a_new_text_resets_the_zoom_but_a_link_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.session_state", {})
    first: ZoomWindow = {"x": [0.5, 2.5], "y": [1.5, 3.5]}
    other: ZoomWindow = {"x": [0.5, 1.5], "y": [0.5, 1.5]}
    assert shown(first, "abcd") == first
    assert shown(first, "abcd") == first
    assert shown(first, "efgh") is None
    assert shown(first, "efgh") == first
    assert shown(other, "abcd") == other
    assert shown(other, "abcd", rows="xyz") is None


def test_a_window_beside_the_map_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.session_state", {})
    assert shown({"x": [3.6, 9.0], "y": [0.0, 1.0]}, "abcd") is None
    assert shown({"x": [0.0, 1.0], "y": [-7.0, -0.6]}, "abcd") is None
    assert len(state.notes()) == 2
