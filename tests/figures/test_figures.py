"""Every figure: from all kinds of sentences, its cells where they belong, arrays as bytes, no ground of its own."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from encoder import figures

WORDS = (
    "[CLS]",
    "the",
    "cat",
    "</s>",
    "the",
    "##ing",
    " ",
    "שלום",
    "antidisestablishmentarianism-and-more",
    "漢",
    "😀",
)
SENTENCES = {
    "one token": ("a",),
    "two tokens": ("[CLS]", "<s>"),
    "repeated words": ("the", "cat", "the", "cat", "the"),
    "every sort of token": WORDS,
    "300 tokens": tuple(WORDS[number % len(WORDS)] for number in range(300)),
}
K, D, N = 6, 10, 7  # width of a head, of the model; norms


def rows_of(n_rows: int, n_columns: int) -> np.ndarray:
    """Numbers that differ in every cell, of both signs."""
    return np.random.default_rng(n_rows * 1000 + n_columns).normal(size=(n_rows, n_columns)).astype(np.float32)


def weights_of(n_queries: int, n_keys: int) -> np.ndarray:
    exponentials = np.exp(rows_of(n_queries, n_keys) * 3)
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def norm_names() -> list[str]:
    return ["embedding_norm", *(f"layers.{layer}.{owner}_norm" for layer in range(3) for owner in ("attention", "ffn"))]


def curve(n: int) -> pd.DataFrame:
    return figures.products_by_distance(figures.position_products(rows_of(n, D)))


#: Figure -> made for a sentence of so many tokens.
MAKERS = {
    "attention": lambda labels, n: figures.attention_heatmap(weights_of(n, n), labels, selected=(n - 1, 0)),
    "attention, log, own scale": lambda labels, n: figures.attention_heatmap(
        weights_of(n, n), labels, log=True, scale="head", colours="greys", title="L0 H2", selected=(None, n // 2)
    ),
    "attention, blocks": lambda labels, n: figures.attention_heatmap(
        weights_of(n, n), labels * 4, block=4, selected=(2, 3)
    ),
    "vectors": lambda labels, n: figures.vectors_heatmap(
        rows_of(n, K), labels, "q", title="Queries", selected=n - 1, component=2
    ),
    "vectors, several selected": lambda labels, n: figures.vectors_heatmap(
        rows_of(n, D), labels, "residual", selected=[0, n - 1], limit=2
    ),
    "positions": lambda labels, n: figures.position_heatmap(rows_of(n, D), title="learned", selected=0),
    "position products": lambda labels, n: figures.position_dot_products(figures.position_products(rows_of(n, D))),
    "position cosines": lambda labels, n: figures.position_dot_products(
        figures.position_products(rows_of(n, D), cosine=True), cosine=True, selected=n - 1
    ),
    "curve by distance": lambda labels, n: figures.distance_curve(
        {"learned": curve(n), "sinusoidal": curve(n)[["distance", "mean"]]}
    ),
    "curve with a mark": lambda labels, n: figures.distance_curve(
        {"q · k": curve(n)[["distance", "mean"]]}, unit="q · k", across="key minus query", mark=(0, 1.5, labels[-1])
    ),
    "biases by rows and columns": lambda labels, n: figures.offset_map(
        rows_of(5, 5), title="head 1", across="columns", down="rows", first=(-2, -2)
    ),
    "biases of heads": lambda labels, n: figures.head_biases(rows_of(4, n), np.arange(n) - n // 2, selected=3),
    "order": lambda labels, n: figures.order_bars(
        np.clip(rows_of(1, n)[0], -1, 1), labels, moved=np.arange(n) % 2 == 0, selected=0
    ),
    "rotary angles": lambda labels, n: figures.rotary_angles(np.abs(rows_of(n, K)), selected=0),
    "norm means": lambda labels, n: figures.norm_means(rows_of(N, n), norm_names(), labels, selected=(N - 1, n - 1)),
    "norm deviations": lambda labels, n: figures.norm_deviations(
        np.abs(rows_of(N, n)), norm_names(), labels, selected=(0, None)
    ),
    "norm deviations, log": lambda labels, n: figures.norm_deviations(
        np.abs(rows_of(N, n)), norm_names(), labels, log=True, colours="magma"
    ),
    "component sizes": lambda labels, n: figures.component_sizes(
        np.abs(rows_of(1, n)[0]), threshold=1.0, named=[0, n - 1], selected=n - 1
    ),
    "token statistics": lambda labels, n: figures.token_statistics(
        {name: (rows_of(n, 2)[:, 0], rows_of(n, 3)[:, 1]) for name in ("before", "LayerNorm", "RMSNorm")},
        labels,
        selected=0,
    ),
    "gain and bias": lambda labels, n: figures.gain_bias(rows_of(2, n)[0], rows_of(2, n)[1], selected=0),
    "gain only": lambda labels, n: figures.gain_bias(rows_of(1, n)[0], None),
}


@pytest.fixture(params=SENTENCES)
def labels(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return SENTENCES[request.param]


def arrays_in(node: object) -> list[object]:
    """Every array and list of numbers of a figure, wherever it stands."""
    if isinstance(node, dict):
        # An axis' categories must be a list: Plotly.js passes typed arrays over without a word.
        return [array for name, value in node.items() if name != "categoryarray" for array in arrays_in(value)]
    if isinstance(node, (list, tuple)):
        numbers = node and all(isinstance(item, (int, float)) for item in node)
        return [node] if numbers else [array for value in node for array in arrays_in(value)]
    return [node] if isinstance(node, np.ndarray) else []


@pytest.mark.parametrize("name", MAKERS)
def test_every_figure(name: str, labels: tuple[str, ...]):
    figure = MAKERS[name](labels, len(labels))
    assert isinstance(figure, go.Figure)
    assert json.loads(figure.to_json())["data"]
    layout = figure.layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert not layout.template.layout.to_plotly_json(), "no default look, blue-grey ground and all"
    assert layout.font.color is None, "text takes the host's colour"
    for array in arrays_in(figure.to_plotly_json()):
        if isinstance(array, np.ndarray):
            assert array.ndim < 2 or array.dtype == np.float32 or name.startswith("dot product"), array.dtype
        else:
            assert len(array) <= 8, "a list where an array should be"
    for trace in figure.data:
        if isinstance(trace, go.Heatmap):
            assert trace.colorscale is not None, "Streamlit's theme would replace it"
            assert trace.showscale is not False or "log" in name
            assert trace.customdata is None
            assert trace.text is None


@pytest.mark.parametrize("name", [name for name in MAKERS if "log" not in name and "dot product" not in name])
def test_every_map_names_its_axes(name: str):
    figure = MAKERS[name](SENTENCES["repeated words"], 5)
    if not isinstance(figure.data[0], go.Heatmap):
        return
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text  # its norms speak for themselves
    low, high = figure.layout.yaxis.range
    assert low > high, "rows run downwards"


def cell(figure: go.Figure, query: int, key: int) -> float:
    """Value of the cell that lies at y = query, x = key."""
    heatmap = figure.data[0]
    [row] = np.flatnonzero(np.asarray(heatmap.y) == query)
    [column] = np.flatnonzero(np.asarray(heatmap.x) == key)
    return float(heatmap.z[row][column])


def test_rows_attend_to_columns():
    weights = weights_of(3, 5)
    figure = figures.attention_heatmap(weights, ["a", "b", "a"], key_labels=["v", "w", "x", "y", "z"])
    for query in range(3):
        for key in range(5):
            assert cell(figure, query, key) == weights[query, key]
    assert figure.layout.yaxis.title.text == "attends from (query)"
    assert figure.layout.xaxis.title.text == "attends to (key)"
    assert figure.layout.yaxis.labelalias == {"0": "a (0)", "1": "b", "2": "a (2)"}
    assert figure.layout.xaxis.labelalias["4"] == "z"
    assert figure.data[0].hovertemplate == "%{y} attends to %{x}: %{z:.3g}<extra></extra>"


def test_repeated_words_stay_apart():
    figure = figures.attention_heatmap(np.eye(3), ["the", "the", "the"])
    assert list(figure.data[0].x) == [0, 1, 2]
    assert figure.layout.xaxis.type == "category"  # no tick ever falls between two tokens
    assert figure.layout.xaxis.to_plotly_json()["categoryarray"] == [0, 1, 2]


def test_labels_of_cells_tell_repeated_tokens_apart_by_their_place_in_the_text():
    """Of words and of one sentence of a pair the place on the axis is none in the text."""
    labels, keys = ["the", "cat", "the"], ["the", "<b>"]
    figure = figures.attention_heatmap(weights_of(3, 2), labels, key_labels=keys, places=([1, 2, 5], [7, 8]))
    assert figure.layout.yaxis.labelalias == {"0": "the (1)", "1": "cat", "2": "the (5)"}
    assert figure.layout.xaxis.labelalias == {"0": "the (7)", "1": "&lt;b&gt;"}, "it stands in both sentences"
    assert list(figure.layout.yaxis.ticktext) == labels
    once = figures.attention_heatmap(weights_of(2, 2), ["a", "b"], key_labels=["b", "a"], places=([3, 4], [4, 3]))
    assert once.layout.xaxis.labelalias == {"0": "b", "1": "a"}, "the same tokens, not others of the same text"
    part = figures.window_spec(weights_of(3, 3), ["the", "cat"] * 4, block=1, row_offset=2, column_offset=5)["layout"]
    assert part["yaxis"]["labelalias"] == {"2": "the (2)", "3": "cat (3)", "4": "the (4)"}
    long = figures.window_spec(weights_of(60, 60), ["the", "cat"] * 50, block=1, row_offset=30)["layout"]["yaxis"]
    assert long["ticktext"][:2] == ["the (30)", "cat (31)"]
    assert "labelalias" not in long


def test_a_name_keeps_its_position_where_its_label_is_cut():
    figure = figures.attention_heatmap(np.eye(2), ["x" * 40] * 2)
    assert figure.layout.xaxis.labelalias["1"] == "x" * 27 + "… (1)"
    hebrew = figures.attention_heatmap(np.eye(2), ["א"] * 2).layout.xaxis.labelalias
    assert hebrew["0"] == "\u2068א\u2069 (0)"


def test_a_window_keeps_its_places():
    labels = [f"t{number}" for number in range(90)]
    figure = figures.attention_heatmap(weights_of(10, 20), labels, row_offset=30, column_offset=60, selected=(35, 5))
    assert cell(figure, 30, 60) == weights_of(10, 20)[0, 0]
    assert list(figure.layout.yaxis.range) == [39.5, 29.5]
    assert list(figure.layout.xaxis.range) == [59.5, 79.5]
    assert figure.layout.yaxis.ticktext[5] == "t35"
    assert [note.text for note in figure.layout.annotations] == ["t35"], "key 5 lies outside the window"


def test_blocks_name_the_tokens_of_a_cell():
    figure = figures.attention_heatmap(weights_of(3, 3), ["x"] * 70, block=32, selected=(40, 69))
    assert figure.layout.yaxis.labelalias == {"0": "0–31", "1": "32–63", "2": "64–69"}
    assert figure.data[0].hovertemplate == "tokens %{y} to %{x}: at most %{z:.3g}<extra></extra>"
    assert "32 tokens a cell" in figure.layout.xaxis.title.text
    assert [note.text for note in figure.layout.annotations] == ["32–63", "64–69"]
    window = figures.attention_cells(weights_of(2, 2), ["x"] * 200, block=32, row_offset=64, column_offset=128)
    assert (list(window.rows), list(window.columns)) == ([2, 3], [4, 5])


def test_colour_scale_starts_at_zero():
    weights = np.full((4, 4), 0.25)
    assert (
        figures.attention_heatmap(weights, WORDS).data[0].zmin,
        figures.attention_heatmap(weights, WORDS).data[0].zmax,
    ) == (0, 1)
    own = figures.attention_heatmap(weights, WORDS, scale="head").data[0]
    assert (own.zmin, own.zmax) == (0, 0.25)
    nothing = figures.attention_heatmap(np.zeros((2, 2)), WORDS, scale="head").data[0]
    assert nothing.zmax == 1


def test_log_scale_keeps_the_weights_and_labels_its_bar():
    weights = weights_of(4, 4)
    figure = figures.attention_heatmap(weights, WORDS, log=True)
    assert np.array_equal(figure.data[0].z, weights)
    marker = figure.data[1].marker
    assert (marker.cmin, marker.cmax) == (-4, 0)
    assert list(marker.colorbar.ticktext) == ["≤ 0.0001", "0.001", "0.01", "0.1", "1"]
    assert list(marker.colorbar.tickvals) == [-4, -3, -2, -1, 0]
    assert "log" in marker.colorbar.title.text


def test_selection_is_marked_in_its_colours():
    figure = figures.attention_heatmap(weights_of(5, 5), WORDS, selected=(1, 4))
    row, column = (
        {(shape.x0, shape.x1, shape.y0, shape.y1) for shape in figure.layout.shapes if shape.line.color == shade}
        for shade in ("#3b82e6", "#e0434f")
    )
    assert row == {(0, 1, 0.5, 1.5)}
    assert column == {(3.5, 4.5, 0, 1)}
    assert [(note.text, note.bgcolor) for note in figure.layout.annotations] == [("the", "#1f63c4"), ("the", "#c9303f")]


def test_zoom_survives_a_new_selection_and_not_another_sentence():
    def key(n: int, **more: object) -> str:
        return figures.attention_heatmap(weights_of(n, n), WORDS, **more).layout.uirevision

    assert key(5) == key(5, selected=(1, 1), log=True, colours="magma", scale="head")
    assert key(5) != key(6)


def test_arrays_travel_as_bytes():
    weights = weights_of(300, 300)
    sent = json.loads(figures.attention_heatmap(weights, ["t"] * 300).to_json())["data"][0]["z"]
    assert sent["dtype"] == "f4"
    assert len(base64.b64decode(sent["bdata"])) == 300 * 300 * 4


def test_labels_are_shown_as_they_are():
    figure = figures.attention_heatmap(np.eye(len(WORDS)), WORDS)
    shown = list(figure.layout.xaxis.ticktext)
    assert shown[3] == "&lt;/s&gt;"  # Plotly would take it for markup
    assert shown[6] == "␣"
    assert shown[7] == "\u2068שלום\u2069"  # an isolate, so the hover sentence keeps its order
    assert shown[8] == "antidisestablishmentarianis…"
    assert shown[9:] == ["漢", "😀"]


def test_right_to_left_tokens_keep_their_place():
    assert [figures.isolated(label) for label in ("cat", "##ing", "", "漢")] == ["cat", "##ing", "", "漢"]
    assert figures.isolated("##ים") == "\u2068##ים\u2069"
    assert figures.isolated("قط") == "\u2068قط\u2069"
    assert figures.arrow("the", "cat") == "the → cat"
    # The mark in front makes the whole a left-to-right line: its first token is the query.
    assert figures.arrow("קט", "the") == "\u200e\u2068קט\u2069 → the"


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    figure = figures.vectors_heatmap(torch.arange(6.0).reshape(3, 2), ["a", "b", "c"], "v")
    assert cell(figure, 2, 1) == 5


def test_vectors_are_coloured_around_zero():
    figure = figures.vectors_heatmap([[1.0, -3.0], [2.0, 0.5]], ["a", "a"], "k")
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-3, 3)
    assert figure.data[0].colorscale[-1][1] == "rgba(224,67,79,1)"
    assert cell(figure, 0, 1) == -3
    assert figures.symmetric_limit([[1, -2]], [[7]]) == 7
    assert figures.symmetric_limit([[0.0]]) == 1


def test_a_part_of_a_long_text_keeps_its_places():
    labels = [f"t{number}" for number in range(90)]
    figure = figures.vectors_heatmap(rows_of(10, 3), labels, "q", first=40, selected=[5, 44])
    assert cell(figure, 40, 0) == rows_of(10, 3)[0, 0]
    assert [note.text for note in figure.layout.annotations] == ["t44"], "row 5 is not drawn"
    assert figure.layout.yaxis.type == "linear"
    long = figures.vectors_heatmap(rows_of(300, 3), ["t"] * 900, "q", first=400).layout.yaxis
    assert (long.tickmode, long.tick0, long.dtick, len(long.labelalias)) == ("linear", 400, 15, 300)
    means = figures.norm_means(rows_of(N, 10), norm_names(), labels, first=40, selected=(None, 49))
    assert list(means.data[0].x) == list(range(40, 50))
    assert {note.text for note in means.layout.annotations} == {"t49"}
    curves = figures.token_statistics({"before": rows_of(2, 10)}, labels, first=40, selected=3)
    assert list(curves.data[0].x) == list(range(40, 50))
    assert not curves.layout.shapes, "token 3 is not drawn"


def test_position_products():
    encoding = np.array([[3.0, 4.0], [4.0, 3.0], [0.0, 0.0]])
    assert figures.position_products(encoding).tolist() == [[25, 24, 0], [24, 25, 0], [0, 0, 0]]
    cosines = figures.position_products(encoding, cosine=True)
    assert cosines[0, 1] == pytest.approx(0.96)
    assert cosines[2].tolist() == [0, 0, 0]


def test_products_by_distance():
    matrix = np.array([[1, 2, 3], [2, 5, 6], [3, 6, 9]])
    table = figures.products_by_distance(matrix)
    assert table["distance"].tolist() == [0, 1, 2]
    assert table["mean"].tolist() == [5, 4, 3]
    assert table["low"].tolist() == pytest.approx([1.8, 2.4, 3])
    assert table["high"].tolist() == pytest.approx([8.2, 5.6, 3])


def test_angles_run_from_zero_to_a_whole_turn():
    turned = np.array([[0.0, 1.0, 3.0, 6.0, 7.0]])
    assert figures.angles(np.cos(turned), np.sin(turned)) == pytest.approx(np.mod(turned, 2 * np.pi), abs=1e-6)
    scale = figures.rotary_angles(turned).data[0].colorscale
    assert scale[0][1] == scale[-1][1], "cyclic"


def test_the_order_of_words_is_drawn_apart():
    figure = figures.order_bars([1.0, 0.5, -0.2], WORDS, moved=[False, True, True])
    moved, stays = figure.data
    assert (list(moved.x), list(moved.y)) == ([1, 2], [0.5, pytest.approx(-0.2)])
    assert list(stays.x) == [0]
    low, high = figure.layout.yaxis.range
    assert low < -0.2
    assert high > 1
    part = figures.order_bars([0.5, 0.4], ["t"] * 42, moved=[True, True], first=40, selected=3)
    assert list(part.data[0].x) == [40, 41]
    assert len(part.layout.shapes) == 1, "the line at 1; token 3 is not drawn"
    without = figures.order_bars([0.5, 0.4], ["a", "b"])
    assert [len(one.x) for one in without.data] == [2, 0]
    assert not without.layout.showlegend


def test_norm_maps():
    mean, std = rows_of(N, 4), np.abs(rows_of(N, 4))
    means = figures.norm_means(mean, norm_names(), WORDS, selected=(1, 3))
    assert np.array_equal(means.data[0].z, mean)
    assert means.data[0].zmax == -means.data[0].zmin == np.abs(mean).max()
    assert means.layout.yaxis.labelalias["2"] == "L0 FFN"
    assert {note.text for note in means.layout.annotations} == {"L0 attn", "&lt;/s&gt;"}
    deviations = figures.norm_deviations(std, norm_names(), WORDS)
    assert np.array_equal(deviations.data[0].z, std)
    assert deviations.data[0].zmin == 0


def test_names_of_norms():
    names = ("embedding_norm", "layers.11.attention_norm", "layers.0.ffn_norm", "final_norm")
    assert [figures.norm_label(name) for name in names] == ["embedding", "L11 attention", "L0 FFN", "final"]
    ticks = [figures.norm_tick(name) for name in names]
    assert ticks == ["embedding", "L11 attn", "L0 FFN", "final"]
    assert max(map(len, ticks)) <= 10, "longer labels are cut on a telephone"


def test_rounding_is_not_coloured():
    noise = rows_of(N, 4) * 1e-8
    figure = figures.norm_means(noise, norm_names(), WORDS, zero_below=1e-6)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)
    assert figure.data[0].colorbar.title.text.endswith("rounding")
    assert np.array_equal(figure.data[0].z, noise.astype(np.float32)), "the hover text says what was computed"
    assert figures.norm_means(noise, norm_names(), WORDS, zero_below=1e-12).data[0].zmax == np.abs(noise).max()


def test_log_scale_of_standard_deviations():
    std = np.full((N, 4), 10.0)
    figure = figures.norm_deviations(std, norm_names(), WORDS, log=True)
    assert np.array_equal(figure.data[0].z, std)
    assert list(figure.data[1].marker.colorbar.ticktext) == ["≤ 0.01", "0.1", "1", "10"]


def test_outliers_have_their_own_colour():
    figure = figures.component_sizes([1.0, 30.0, 5.0, 400.0], threshold=12, named=[3, 1])
    outlier, other = figure.data
    assert (list(outlier.x), list(outlier.y)) == ([1, 3], [30, 400])
    assert list(other.x) == [0, 2]
    assert outlier.marker.color != other.marker.color
    notes = [(note.text, note.y) for note in figure.layout.annotations]
    assert notes == [("3", pytest.approx(np.log10(400))), ("1", pytest.approx(np.log10(30)))]


def test_a_probe_has_its_control_task_only_where_it_is_selected():
    ends = np.array([0.4, 0.6])
    curves = [figures.ProbeCurve(name, ends, ends - 0.1, ends + 0.1, ends / 2) for name in ("token", "mean")]
    dotted = [
        one
        for one in figures.probe_curves(curves, 0.25, (1, 0)).data
        if one.line.dash == "dot" and one.x[0] is not None
    ]
    assert [one.line.color for one in dotted] == [figures.probe_curves(curves, 0.25).data[1].line.color]


def test_outliers():
    values = np.zeros(200)
    values[7], values[100] = 9, -20
    assert figures.outliers(values).tolist() == [100, 7]
    assert figures.outliers(np.ones(5)).size == 0


def test_gain_is_drawn_from_one():
    figure = figures.gain_bias([0.5, 1.0, 3.0], [0.25, -0.5, 0.0])
    below, above = figure.data[:2]
    assert (below.base, list(below.x), list(below.y), list(below.customdata)) == (1, [0], [-0.5], [0.5])
    assert (list(above.x), list(above.y)) == ([1, 2], [0, 2])


def test_token_steps():
    table = figures.token_steps([1.0, 3.0], [-1.0, 1.0], [2.0, 2.0], None, [-2.0, 2.0], 2.0)
    assert table["x - mean"].tolist() == [-1, 1]
    assert table["bias"].tolist() == [0, 0]
    assert table.columns.tolist() == ["component", "x", "x - mean", "normalised", "gain", "bias", "output"]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: figures.attention_heatmap(np.eye(3), ["a", "b"]), r"\blabels\b.* 2\b.* 3\b"),
        (lambda: figures.attention_heatmap(np.eye(2), ["a", "b"], key_labels=["a"]), "key_labels names 1"),
        (lambda: figures.attention_heatmap(np.zeros(3), ["a"]), r"attention has shape \[3\]"),
        (lambda: figures.attention_heatmap(np.zeros((0, 0)), []), r"attention has shape \[0, 0\]"),
        (lambda: figures.attention_heatmap(np.eye(2), ["a", "b"], scale="own"), "scale='own': choose 'fixed'"),
        (lambda: figures.attention_heatmap(np.eye(2), ["a"] * 9, block=2, row_offset=3), "row_offset=3"),
        (lambda: figures.attention_heatmap(np.eye(2), ["a", "b"], colours="jet"), "colours='jet'"),
        (lambda: figures.vectors_heatmap(np.eye(2), ["a", "b"], "z"), "kind='z'"),
        (lambda: figures.products_by_distance(np.ones((2, 3))), r"\[2, 3\]"),
        (lambda: figures.distance_curve({}), "at least one curve"),
        (lambda: figures.norm_means(np.eye(2), ["final_norm"], ["a", "b"]), "for 1 norms"),
        (lambda: figures.token_statistics({}, ["a"]), "at least one norm"),
        (lambda: figures.token_statistics({"a": ([1], [1, 2])}, ["a", "b"]), r"\[1, 2\] tokens"),
        (lambda: figures.gain_bias([1, 2], [1]), r"\bgain\b.* 2\b.*\bbias\b.* 1\b"),
    ],
)
def test_errors_say_what_is_wrong(call, said: str):
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize(("parts", "block", "at"), [((3, 5), 1, (2.5, 4.5)), ((4, None), 2, (1.5, None))])
def test_a_line_divides_a_pair_of_sentences(parts: tuple, block: int, at: tuple) -> None:
    """The line is on the border of two cells, also where the axes count blocks."""
    labels = [f"t{k}" for k in range(8 * block)]
    figure = figures.attention_spec(np.full((8, 8), 0.125), labels, block=block, parts=parts)
    lines = [shape for shape in figure["layout"]["shapes"] if shape["type"] == "line"]
    rows = {shape["y0"] for shape in lines if shape["yref"] == "y"}
    columns = {shape["x0"] for shape in lines if shape["xref"] == "x"}
    assert (rows, columns) == tuple(set() if place is None else {place} for place in at)
