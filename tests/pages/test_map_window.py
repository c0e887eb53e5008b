"""Which tokens a zoom window shows."""

from __future__ import annotations

import pytest

from pages.core.map_window import zoomed


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
