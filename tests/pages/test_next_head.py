"""The next head's map, as the channel answers it: which figure, for whom, and how long."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest

import encoder
from encoder.errors import EncoderError
from encoder.export import Options
from encoder.model.overview import block_max
from encoder.run import ModelSpec, Run, Text
from pages.core.stores import cache
from pages.core.stores.byte_cache import ByteCache
from pages.core.view.selection import Selection
from pages.heads import next_head

LONG = " ".join(["the cat sat on a mat"] * 60)  # 362 tokens: its cells are blocks


def page_of(text: str, window: Any = None, options: Options | None = None) -> next_head.Page:
    traced = cache.StoredRun(Run(ModelSpec(), Text(text)))
    return next_head.Page(traced, options or Options(), "viridis", Selection((2,), ()), window)


def figure_in(block: bytes) -> tuple[dict[str, Any], np.ndarray]:
    """The figure, and the weights of its map."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length])
    where = header["arrays"]["data.0.z"]
    n_cells = int(np.prod(where["shape"]))
    z = np.frombuffer(block, where["dtype"], n_cells, 4 + length + where["offset"])
    return header, z.reshape(where["shape"])


def test_it_is_the_figure_of_the_page(minilm: encoder.TextEncoder) -> None:
    text = "a text that no other test has"
    identity = next_head._kept(page := page_of(text))
    assert (
        next_head.answer(identity, {"layer": "1", "head": "8"}) is None
    )  # no trace yet: the page's answer comes first
    trace = page.run.trace
    header, z = figure_in(next_head.answer(identity, {"layer": "1", "head": "8"}) or b"")
    np.testing.assert_allclose(z, minilm.trace(text).attention(1, 8), rtol=1e-4, atol=1e-6)
    assert header["selected"] == {"i": [2], "j": []}
    assert header["figure"]["layout"]["yaxis"]["ticktext"][1] == "a"
    cache.forget_traces()
    assert next_head.answer(identity, {"layer": "1", "head": "8"}) is None
    assert trace.n_tokens == 9


def test_blocks_of_a_long_text_and_the_window_that_is_zoomed_into(minilm: encoder.TextEncoder) -> None:
    weights = minilm.trace(LONG).attention(2, 3)
    whole, zoomed = page_of(LONG), page_of(LONG, {"x": [9.5, 39.5], "y": [-0.5, 19.5]})
    assert whole.run.trace.n_tokens == 362
    _, z = figure_in(next_head.answer(next_head._kept(whole), {"layer": "2", "head": "3"}) or b"")
    np.testing.assert_allclose(z, block_max(weights[None], 2)[0], rtol=1e-4, atol=1e-6)
    _, z = figure_in(next_head.answer(next_head._kept(zoomed), {"layer": "2", "head": "3"}) or b"")
    np.testing.assert_allclose(z, weights[:20, 10:40], rtol=1e-4, atol=1e-6)


def test_ids_are_not_guessed_and_addresses_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    page = page_of("two words")
    assert page.run.trace.n_tokens == 4
    identity = next_head._kept(page)
    assert next_head._kept(page_of("two words")) == identity
    others = (page_of("two word"), page_of("two words", options=Options(log=True)))
    assert len({identity, *map(next_head._kept, others)}) == 3
    monkeypatch.setattr(next_head, "_SECRET", b"of another process")
    assert next_head._kept(page) != identity
    assert next_head.answer("0" * 32, {"layer": "0", "head": "0"}) is None
    for query in (
        {},
        {"layer": "0"},
        {"layer": "0", "head": "x"},
        {"layer": "0", "head": "12"},
        {"layer": "-1", "head": "0"},
    ):
        with pytest.raises(EncoderError):
            next_head.answer(identity, query)


def test_it_remembers_texts_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_head, "_PAGES", ByteCache(50_000))
    identities = [next_head._kept(page_of(f"{number} {'word ' * 1000}")) for number in range(5)]
    assert [next_head._PAGES.known(one) is not None for one in identities] == [False, False, False, True, True]
