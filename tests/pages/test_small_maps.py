"""Small maps: one cache entry a layer for all pages, and in a long text from the overview of the large maps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from encoder.export import Options
from encoder.maps import aggregate, long_map
from encoder.run import UNTRAINED, ModelSpec, Run, Text, Untrained
from pages.core.stores import cache
from pages.core.view import maps, norm_pair
from pages.core.view.view import View
from pages.heads.grid import thumbnails

CAT = "The cat sat on the mat"


@pytest.fixture
def view() -> View:
    return View(Run(ModelSpec("twin-post"), Text(CAT)), "viridis")


def test_all_pages_share_the_maps_of_a_layer(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = maps.of_layer(view, 1)
    expected = aggregate.to_uint8(view.trace.layer_thumbnails(1, maps.SIDE))
    np.testing.assert_allclose(drawn.astype(int), expected, atol=1)
    assert np.shares_memory(maps.of_layer(view, 1), drawn)
    assert np.shares_memory(maps.of_layer(view, 1, Options(log=True)), drawn), (
        "an option of the colours changes no weight"
    )
    # What the pages show comes from this one entry: a changed entry changes all of them.
    monkeypatch.setattr(maps, "of_layer", lambda *_: drawn + 1)
    grid = thumbnails(view, Options())
    pair = norm_pair.PairTraces(norm_pair.pair_of(view), view.run)
    np.testing.assert_array_equal(grid[1], drawn + 1)
    np.testing.assert_array_equal(pair.small_maps("post"), grid)


def test_options_have_maps_of_their_own(view: View) -> None:
    plain, zeroed = thumbnails(view, Options()), thumbnails(view, Options(special="zero"))
    assert plain[:, :, 0].any()
    assert not zeroed[:, :, 0].any(), "the row of [CLS]"


def test_a_long_text_computes_its_large_and_small_maps_in_one_walk() -> None:
    made = Untrained(layers=2, heads=4, width=16, ffn=32)
    run = Run(ModelSpec(UNTRAINED, untrained=made), Text("the cat sat on the mat . " * 120))
    text = cache.StoredRun(run)
    assert maps.known_overview(text, 0) is None
    small = maps.of_layer(text, 0)
    known = maps.known_overview(text, 0)
    assert known is not None
    np.testing.assert_array_equal(small, aggregate.to_uint8(known.coarser(maps.SIDE)))
    assert maps.of_layer(text, 0, Options(special="zero")) is small, "the options do not count"


def test_the_pass_gives_the_maps_of_a_long_text_layer_by_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Untrained(layers=3, heads=4, width=16, ffn=32)
    spec = ModelSpec(UNTRAINED, untrained=replace(made, seed=5))
    text = cache.StoredRun(Run(spec, Text("the dog ran over the hill . " * 120)))
    drawn = []
    maps.during_the_pass(text.run, lambda *one: drawn.append(one))
    assert [layer for layer, _ in drawn] == [0, 1, 2]
    afterwards = long_map.layer_overview(text.trace, 1)
    monkeypatch.setattr(maps, "layer_overview", lambda *_: pytest.fail("these maps are there already"))
    for layer, small in drawn:
        np.testing.assert_array_equal(maps.of_layer(text, layer), small)
    known = maps.known_overview(text, 1)
    assert known is not None
    np.testing.assert_allclose(known.pooled, afterwards.pooled, atol=1e-6)
    maps.during_the_pass(text.run, lambda *_: pytest.fail("nothing is computed a second time"))


def test_a_strip_shows_the_maps_of_a_layer_side_by_side() -> None:
    small = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    colours = np.stack([np.arange(256)] * 3, axis=-1).astype(np.uint8)
    strip = maps.strip(small, colours)
    assert strip.shape == (3, 2 * (3 + maps.GAP), 4)
    second = 3 + maps.GAP
    np.testing.assert_array_equal(strip[:, second : second + 3, 0], small[1])
    assert (strip[:, :3, 3] == 255).all()
    assert not strip[:, 3:second, 3].any(), "transparent between two maps"
