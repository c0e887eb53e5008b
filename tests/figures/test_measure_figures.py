"""Figures of the measures: what is drawn where, which head or token a click means, and what does not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from encoder.figures.deletion import deletion_curves
from encoder.figures.norm_weighted import shares_by_layer, weighted_heatmap
from encoder.figures.output_parts import output_part_bars
from encoder.figures.qk_plane import KEYS, QUERIES, qk_plane

RANDOM = np.random.default_rng(0)


def labels_of(n: int) -> tuple[str, ...]:
    words = ("[CLS]", "the", "<s>", "the", " ", "שלום", "😀")
    return tuple(words[number % len(words)] for number in range(n))


def plane(n: int, **options):
    points = RANDOM.normal(size=(2, n, 2)) * 3
    return qk_plane(*points, labels_of(n), [0] * n, [0.5] * n, **options)


MAKERS = {
    "norm-weighted": lambda n: weighted_heatmap(np.eye(n), labels_of(n), "share", selected=(0, n - 1)),
    "norm-weighted, log": lambda n: weighted_heatmap(np.eye(n) * 3, labels_of(n), "length", largest=3, log=True),
    "norm-weighted, window": lambda n: weighted_heatmap(np.eye(2), labels_of(2 * n), "share", block=n, window=True),
    "rollout": lambda n: weighted_heatmap(np.eye(n)[:1], labels_of(n), "rollout"),
    "layers": lambda n: shares_by_layer(*RANDOM.random((3, n)), selected=n - 1),
    "plane": lambda n: plane(n, selected=(0, n - 1), explained=(0.5, 0.2)),
    "output parts": lambda n: output_part_bars(
        [f"L{at}" for at in range(n)], ["head"] * n, [f"L{at} H0" for at in range(n)], RANDOM.normal(size=n), of="the"
    ),
    "deletion": lambda n: deletion_curves(
        range(1, n + 1), dict(zip("ab", RANDOM.random((2, n)), strict=True)), RANDOM.random((4, n)), "tokens", "change"
    ),
}


@pytest.mark.parametrize("name", list(MAKERS))
@pytest.mark.parametrize("n", [1, 3, 130])
def test_every_figure_is_drawn(name: str, n: int) -> None:
    figure = MAKERS[name](n)
    assert json.loads(figure.to_json())["data"]
    assert figure.layout.paper_bgcolor == "rgba(0,0,0,0)"


def heatmap(figure):
    return next(trace for trace in figure.data if trace.type == "heatmap")


def test_a_weighted_map_has_its_own_scale_and_words() -> None:
    values = np.array([[0.5, 2.5], [1.0, 0.0]])
    for log in (False, True):
        figure = weighted_heatmap(values, ("a", "b"), "length", largest=4.0, log=log)
        assert heatmap(figure).zmax == 4
        assert np.array_equal(heatmap(figure).z, values)
        assert "weight × norm" in heatmap(figure).hovertemplate
        assert figure.layout.xaxis.title.text == "attends to (key)"
        bar = figure.data[1].marker.colorbar if log else heatmap(figure).colorbar
        assert bar.title.text.startswith("weight × norm")
        assert len(figure.data) == 1 + log
    assert heatmap(weighted_heatmap(np.zeros((2, 2)), ("a", "b"), "share", largest=0.0)).zmax == 1


def test_a_weighted_map_of_blocks_says_at_most() -> None:
    figure = weighted_heatmap(np.eye(2), labels_of(8), "share", block=4, window=True)
    assert "largest" in heatmap(figure).hovertemplate
    assert figure.layout.xaxis.title.text.endswith("4 tokens a cell")


def test_lines_lead_to_the_strongest_keys() -> None:
    q, k = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[5.0, 1.0], [6.0, 2.0]])
    figure = qk_plane(q, k, ("a", "b"), [1, 0], [0.9, 0.6], selected=(1, None))
    lines = figure.data[0]
    assert list(zip(lines.x, lines.y, strict=True))[:2] == [(0, 0), (6, 2)]
    assert list(zip(lines.x, lines.y, strict=True))[3:5] == [(1, 0), (5, 1)]
    assert np.isnan(lines.x[2])
    assert figure.data[QUERIES].name == "queries"
    assert figure.data[KEYS].name == "keys"
    assert figure.data[QUERIES].hovertext[1].startswith("query of b (1)")
    assert figure.data[QUERIES].hovertext[1].endswith("a (0): 0.6")
    strong = [trace for trace in figure.data[3:] if trace.mode == "lines"]
    assert [list(trace.x[:2]) for trace in strong] == [[1, 5]]


def test_a_part_of_a_text_draws_the_lines_that_end_in_it() -> None:
    q = k = np.arange(6.0).reshape(3, 2)
    figure = qk_plane(q, k, labels_of(10), [0, 5, 6], [0.5] * 3, first=4, selected=(9, 4))
    assert len(figure.data[0].x) == 2 * 3, "tokens 5 and 6 are drawn, token 0 is not"
    assert figure.data[QUERIES].hovertext[1].startswith("query of שלום (5)") or "(5)" in figure.data[1].hovertext[1]


def test_names_are_in_the_order_in_which_the_page_keeps_them() -> None:
    """The selected query's strongest key, then a key of many queries, then all others; a selected token has a tag."""
    strongest = [0, 1, *[2] * 7]
    figure = qk_plane(np.zeros((9, 2)), np.ones((9, 2)), ["word"] * 9, strongest, [1.0] * 9, selected=(1, None))
    order = figure.layout.meta["names"]
    assert order[:3] == [[KEYS, 1], [KEYS, 2], [QUERIES, 0]]
    assert [QUERIES, 1] not in order
    assert not figure.data[QUERIES].text[1]
    assert len(order) == 2 * 9 - 1 == sum(1 for n in (QUERIES, KEYS) for text in figure.data[n].text if text)
    assert [note.text for note in figure.layout.annotations] == ["word"]
    long = qk_plane(np.zeros((200, 2)), np.ones((200, 2)), ["word"] * 200, [7] * 200, [1.0] * 200)
    assert long.layout.meta["names"] == [[KEYS, 7]] or long.layout.meta["names"] == ([KEYS, 7],)


def test_random_draws_are_a_band_and_their_mean() -> None:
    draws = np.array([[0.1, 0.4], [0.3, 0.2]])
    figure = deletion_curves((1, 3), {"one": (0.5, 0.6), "other": (0.7, 0.8)}, draws, "tokens", "change")
    low, high, mean, favourite, weighted = figure.data
    assert low.y.tolist() == pytest.approx([0.1, 0.2])
    assert high.y.tolist() == pytest.approx([0.3, 0.4])
    assert mean.y.tolist() == pytest.approx([0.2, 0.3])
    assert favourite.y.tolist() == pytest.approx([0.5, 0.6])
    assert weighted.y.tolist() == pytest.approx([0.7, 0.8])
    assert figure.layout.xaxis.tickvals.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: qk_plane(np.zeros((2, 2)), np.zeros((3, 2)), ("a", "b"), [0, 0], [1, 1]), "2. each"),
        (lambda: qk_plane(np.zeros((2, 2)), np.zeros((2, 2)), ("a", "b"), [0], [1, 1]), "strongest"),
    ],
)
def test_what_does_not_fit_is_said(make, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
