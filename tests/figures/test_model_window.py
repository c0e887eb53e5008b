"""The window of a long input in the model's picture: no answer of the host undoes a newer wish of the reader's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from encoder.drawing.javascript import SHARED
from tests.run_javascript import evaluated

#: A host's window of 48 tokens of 112, of which all have room. `answer(first, asked)` is a new header, of other tokens
#: if its window is another one; `later()` waits until a wish has been sent.
HOST = """(async () => {
  const sent = [];
  const header = (first, asked, query = null) =>
    ({ first, asked, query, count: 112, labels: Array.from({ length: 48 }, (_, at) => `word${first + at}`) });
  const view = { input: { paintSoon() {} }, draw() {}, send: (name, { first }) => sent.push(first) };
  const pan = new TokenWindow(view);
  const answer = (first, asked, query) => {
    const isSame = view.header?.first === first;
    view.header = header(first, asked, query);
    view.place = { first: 0, count: 48 };
    pan.read(isSame);
  };
  const later = () => new Promise((done) => setTimeout(done, 200));
  answer(64, 64);
  %s
  return { sent, start: pan.start, shown: pan.shown[0], selects: pan.first };
})()"""
SCENES = {
    "a drag that goes on while the answer to its first stop comes": (
        "pan.panTo(30); await later(); pan.panTo(0); answer(30, 30); await later(); answer(0, 0);",
        {"sent": [30, 0], "start": 0, "shown": 0, "selects": 0},
    ),
    "the answer to an older click comes before the window is asked for": (
        "pan.panTo(0); answer(64, 64); await later();",
        {"sent": [0], "start": 0, "shown": 0, "selects": 0},
    ),
    "there and back before the host has answered": (
        "pan.panTo(0); await later(); pan.panTo(64); answer(0, 0); await later(); answer(64, 64);",
        {"sent": [0, 64], "start": 64, "shown": 64, "selects": 64},
    ),
    "a quick move there and back": (
        "pan.panTo(0); pan.panTo(64); await later(); answer(64, 64);",
        {"sent": [64], "start": 64, "shown": 64, "selects": 64},
    ),
    "a token is selected before the window has come": (
        "pan.panTo(10); await later();",
        {"sent": [10], "start": 10, "shown": 10, "selects": 10},
    ),
    "another text comes while a window is asked for": (
        "pan.panTo(0); answer(20, null, 25); await later();",
        {"sent": [], "start": 37, "shown": 20, "selects": 20},
    ),
    "a link to another place": (
        "pan.panTo(30); await later(); answer(30, 30); answer(5, 5, 10);",
        {"sent": [30], "start": 7, "shown": 5, "selects": 5},
    ),
}


@pytest.mark.parametrize("scene", SCENES)
def test_the_newest_wish_of_the_reader_wins(scene: str, tmp_path: Path) -> None:
    script, expected = SCENES[scene]
    found: dict[str, Any] = evaluated(SHARED / "model_window.js", "TokenWindow", f"await {HOST % script}", tmp_path)
    assert found == expected
