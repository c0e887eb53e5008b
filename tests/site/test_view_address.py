"""The address of a page that computes in a browser: the app's edits, and what a page does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoder import edits
from tests.run_javascript import evaluated
from tests.site.test_engine import BROWSER

EDITS = [
    (),
    (edits.AblateHead(2, 3), edits.AblateHead(0, 1), edits.CausalMask()),
    (edits.Zero("attention_out", layer=1), edits.Zero("ffn_out", layer=0), edits.DropPositions()),
]


@pytest.mark.parametrize("made", EDITS)
def test_edits_that_a_page_does_are_read_and_written_as_the_app_does(made: tuple[edits.Edit, ...], tmp_path: Path):
    text = repr(edits.format(made))
    call = f"[readEdits({text}), writtenEdits(readEdits({text}))]"
    found, written = evaluated(BROWSER / "edits.js", "readEdits, writtenEdits", call, tmp_path)
    assert not found["others"]
    assert edits.parse(written) == made


def test_other_edits_are_named(tmp_path: Path):
    given = [edits.Zero("z", layer=1, heads=(0, 2)), edits.UniformAttention(0), edits.Zero("q", layer=1)]
    call = f"readEdits({edits.format(given)!r})"
    found = evaluated(BROWSER / "edits.js", "readEdits", call, tmp_path)
    assert found["off"] == [[1, 0], [1, 2]]
    assert found["others"] == [edits.format([one]) for one in given[1:]]
