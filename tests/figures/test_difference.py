"""The figure of a difference: numbers, colours around 0, gaps, what is selected, names that cannot break out."""

from __future__ import annotations

import numpy as np
import pytest

from encoder.figures import attention_heatmap, difference

NAN = np.nan
VALUES = np.array([[0.5, -0.25, NAN], [0.1, 0.0, NAN], [NAN, NAN, NAN]], dtype=np.float32)


def test_colours_lie_around_zero_and_gaps_stay_empty():
    figure = difference.attention_difference(VALUES, ["a", "a", "c"], names=("L0", "<b>"))
    (trace,) = figure.data
    assert np.asarray(trace.z) == pytest.approx(VALUES, nan_ok=True)
    assert (trace.zmin, trace.zmax) == (-0.5, 0.5)
    assert trace.hoverongaps is False
    assert "&lt;b&gt; − L0 = %{z:+.3g}" in trace.hovertemplate
    assert trace.colorbar.title.text == "L0 more ← → &lt;b&gt; more"
    assert list(figure.layout.xaxis.ticktext) == ["a", "a", "c"]
    assert figure.layout.xaxis.labelalias == {"0": "a (0)", "1": "a (1)", "2": "c"}
    figure = difference.attention_difference(VALUES, ["a", "a", "c"], disambiguated=["a (1 | 4)", "a (2)", "c"])
    assert figure.layout.yaxis.labelalias == {"0": "a (1 | 4)", "1": "a (2)", "2": "c"}


@pytest.mark.parametrize("labels", [("a",), ("the", "cat", "the"), tuple("ab" * 40)])
def test_the_difference_keeps_its_place_and_its_sign(labels: tuple[str, ...]) -> None:
    n = len(labels)
    values = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    figure = difference.attention_difference(values, labels, selected=(n - 1, 0))
    heatmap = figure.data[0]
    assert np.asarray(heatmap.z) == pytest.approx(values)
    assert heatmap.zmin == -heatmap.zmax
    assert heatmap.zmax == pytest.approx(np.abs(values).max())
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # queries downwards
    assert list(figure.layout.xaxis.ticktext) == list(labels)


def test_a_difference_in_blocks_needs_a_label_for_each_token() -> None:
    figure = difference.attention_difference(np.eye(3), ["t"] * 6, selected=(5, 0), block=2)
    assert "2 tokens a cell" in figure.layout.xaxis.title.text
    assert list(figure.layout.xaxis.ticktext) == ["0–1", "2–3", "4–5"]
    with pytest.raises(ValueError, match="labels"):
        difference.attention_difference(np.eye(3), ["t"] * 4, block=2)


def test_a_label_says_both_weights():
    first, second = np.zeros((3, 3)), np.ones((3, 3))
    figure = difference.attention_difference(VALUES, ["a", "b", "c"], weights=(first, second))
    assert np.asarray(figure.data[0].customdata).shape == (3, 3, 2)
    assert np.asarray(figure.data[0].customdata)[1, 2].tolist() == [0, 1]
    assert "A %{customdata[0]:.3g}, B %{customdata[1]:.3g}" in figure.data[0].hovertemplate
    pooled = difference.attention_difference(VALUES, ["a"] * 6, weights=(first, second), block=2)
    assert pooled.data[0].customdata is None


def test_blocks_are_named_by_their_tokens():
    figure = difference.attention_difference(VALUES, list("abcdefgh"), block=3, limit=2.0)
    assert list(figure.layout.xaxis.ticktext) == ["0–2", "3–5", "6–7"]
    assert figure.data[0].zmax == 2.0


def test_gaps_are_shaded_as_runs_and_the_selection_stays():
    assert difference.runs([1, 2, 3, 7, 9, 10]) == [(1, 3), (7, 7), (9, 10)]
    assert difference.runs([]) == []
    figure = attention_heatmap(np.eye(6), list("abcdef"), selected=(1, 2))
    before = [shape.to_plotly_json() for shape in figure.layout.shapes]
    difference.show_gaps(figure, [3, 4])
    shapes = [shape.to_plotly_json() for shape in figure.layout.shapes]
    assert shapes[2:] == before
    assert [(shape["y0"], shape["y1"]) for shape in shapes[:1]] == [(2.5, 4.5)]
    assert [(shape["x0"], shape["x1"]) for shape in shapes[1:2]] == [(2.5, 4.5)]


def test_selected_steps_are_framed():
    bare = difference.attention_difference(VALUES, ["a", "b", "c"])
    figure = difference.attention_difference(VALUES, ["a", "b", "c"], selected=(1, None))
    assert len(bare.layout.shapes) == 0
    assert {(shape.y0, shape.y1) for shape in figure.layout.shapes} == {(0.5, 1.5)}
    assert figure.layout.annotations[0].text == "b"
    outside = difference.attention_difference(VALUES, ["a", "b", "c"], selected=(9, 9))
    assert len(outside.layout.shapes) == 0


def test_a_title_is_cut_and_escaped():
    figure = difference.attention_difference(VALUES, ["a", "b", "c"])
    difference.name_side(figure, "A", "<i>" + "x" * 60, "#123456")
    text = figure.layout.annotations[-1].text
    assert text.startswith('<span style="color:#123456">●</span> <b>A</b> &lt;i&gt;xxx')
    assert text.endswith("x…")


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\blabels\b.* 2\b.* 3\b"):
        difference.attention_difference(VALUES, ["a", "b"])
