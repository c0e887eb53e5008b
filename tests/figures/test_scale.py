"""Colour scales: one outlier does not blacken the rest, and the colour bar says what is beyond the last colour."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from encoder import figures
from encoder.figures.colours import STEP
from encoder.figures.feed_forward import neuron_heatmap
from encoder.figures.numbers import three_digits
from encoder.figures.scale import TIMES, robust

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("times", [10.0, 1e4])
def test_one_outlier_leaves_the_others_visible(times: float) -> None:
    values = RANDOM.normal(size=(6, 12))
    ordinary = float(np.abs(values).max())
    values[2, 3] = -times * ordinary
    scale = robust(values)
    assert ordinary / TIMES <= scale.limit <= ordinary
    assert np.median(np.abs(values)) / scale.limit > 0.2, "an ordinary number has a colour of its own"
    assert scale.beyond == int((np.abs(values) > scale.limit).sum()) > 0
    assert scale.largest == pytest.approx(-times * ordinary, rel=1e-6)
    assert str(scale.beyond) in scale.titled("effect")
    assert three_digits(scale.largest) in scale.titled("effect")
    assert float(three_digits(scale.limit)) == scale.limit, "the bar names the end exactly"


@pytest.mark.parametrize(
    "values", [[[0.0, 0.0]], [[1.0]], [[np.nan, 2.0]], [[np.nan, np.nan]], np.linspace(-1, 1, 40).reshape(4, 10)]
)
def test_where_nothing_is_far_from_the_rest_nothing_is_left_out(values: object) -> None:
    scale = robust(values)
    assert scale.beyond == 0
    assert scale.titled("mean") == "mean"
    assert scale.limit == figures.symmetric_limit(values)


def test_the_maps_that_were_black_are_not() -> None:
    labels, names = [f"t{n}" for n in range(16)], [f"layers.{n}.ffn_norm" for n in range(13)]
    stds = np.abs(RANDOM.normal(1, 0.2, (13, 16)))
    stds[3, 0] = 60.0
    drawn = figures.norm_deviations(stds, names, labels).data[0]
    assert drawn.zmax < 2
    assert "60" in drawn.colorbar.title.text
    assert figures.norm_deviations(stds, names, labels, limit=80).data[0].zmax == 80
    means = figures.norm_means(np.where(stds > 50, -60.0, stds - 1), names, labels).data[0]
    assert means.zmax < 2
    effects = np.where(RANDOM.random((6, 12)) < 0.9, 0.002, -0.001)
    effects[5, 11] = -0.08
    drawn = figures.effect_map(effects).data[0]
    assert (drawn.zmin, drawn.zmax) == pytest.approx((-0.002 * STEP, 0.002 * STEP))
    assert "0.08" in drawn.colorbar.title.text


def test_a_bar_ends_at_0_where_no_effect_is_on_its_other_side() -> None:
    effects = RANDOM.random((6, 12)) + 1
    both, limit = figures.effect_map(np.append(effects, -effects, axis=0)).data[0], float(effects.max())
    for values, ends in ((effects, (0, limit)), (-effects, (-limit, 0))):
        drawn = figures.effect_map(values).data[0]
        assert (drawn.zmin, drawn.zmax) == pytest.approx(ends)
        places, colours = zip(*drawn.colorscale, strict=True)
        assert (places[0], places[-1]) == (0, 1)
        assert set(colours) < {shade for _, shade in both.colorscale}
        assert _opacity(colours[0 if ends[1] else -1]) == 0


LABELS, NORMS = [f"t{n}" for n in range(8)], [f"layers.{n}.ffn_norm" for n in range(5)]
#: Every map of a page whose scale may leave numbers out: name -> what draws it.
MAPS: dict[str, Callable[[np.ndarray], object]] = {
    "deviations": lambda x: figures.norm_deviations(np.abs(x), NORMS, LABELS),
    "means": lambda x: figures.norm_means(x, NORMS, LABELS),
    "neurons": lambda x: neuron_heatmap(x, np.tile(np.arange(8), (5, 1)), LABELS),
    "effects": figures.effect_map,
    "positions": figures.position_heatmap,
    "patches": lambda x: figures.patch_map(x, LABELS, limit=1.0),
}


@pytest.mark.parametrize("name", MAPS)
def test_what_lies_beyond_a_scale_has_a_colour_of_its_own(name: str) -> None:
    values = np.tile([0.2, -0.4, 0.6, -0.8, 1.0, -1.0, 0.5, 0.3], (5, 1))
    values[0, 0], values[0, 1] = 40.0, -50.0
    (drawn,) = MAPS[name](values).data
    places, colours = zip(*drawn.colorscale, strict=True)

    def shade(value: float) -> str:
        share = (value - drawn.zmin) / (drawn.zmax - drawn.zmin)
        return colours[max(k for k, place in enumerate(places) if place <= min(max(share, 0), 1))]

    largest = [1.0] if drawn.zmin == 0 else [1.0, -1.0]
    for end in largest:
        assert shade(40 * end) not in {shade(end), shade(0.5 * end)}
        assert shade(40 * end) == shade(1.01 * end)
    assert drawn.colorbar.ticktext[-1] == "> 1"
    assert drawn.zmin == 0 or drawn.colorbar.ticktext[0] == "< −1"


def test_small_effects_keep_a_colour_next_to_large_ones() -> None:
    effects = RANDOM.normal(size=(6, 12)) / 1_000
    effects[5, 3:] *= 40
    drawn = figures.effect_map(effects)
    (cells,) = drawn.data
    places, colours = zip(*cells.colorscale, strict=True)
    shares = np.interp(0.5 + 0.5 * np.abs(effects) / cells.zmax, places, [_opacity(one) for one in colours])
    linear = np.median(np.abs(effects[:5])) / cells.zmax
    assert np.median(shares[:5]) > 4 * linear
    order = np.argsort(-np.abs(effects), axis=None)[:3]
    marked = {one.text: (one.y, one.x) for one in drawn.layout.annotations}
    assert [marked[str(rank)] for rank in (1, 2, 3)] == [divmod(int(place), 12) for place in order]


def _opacity(shade: str) -> float:
    return float(shade.rstrip(")").split(",")[-1])


def test_maps_that_are_compared_share_the_end_of_their_scale() -> None:
    before, after = np.append(np.linspace(0.5, 2, 99), 50.0), np.linspace(0.5, 1.5, 100)
    one, other = robust(before, after), robust(after, before)
    assert one.limit == other.limit < 3
    assert one.beyond > other.beyond
    assert one.largest == 50.0
    assert other.largest == 1.5
