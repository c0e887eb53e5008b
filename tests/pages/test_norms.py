"""LayerNorm under AppTest: its links and numbers."""

from __future__ import annotations

import re
from operator import itemgetter

import numpy as np
import pytest

import encoder
from encoder import explain
from encoder.figures.numbers import three_digits
from encoder.measure import norms
from pages.core.words.formulas import number
from pages.norms.params import PARTS
from tests.pages.apps import assert_well, sentences, visit, written

pytestmark = pytest.mark.sample(3, "another address or input of the same page")


@pytest.mark.parametrize(
    ("name", "model", "opened"),
    [
        ("layers.2.ffn_norm", "minilm", {"step": "norm", "part": "ffn", "layer": 2}),
        ("embedding_norm", "minilm", {"step": "embedding"}),
        ("final_norm", "twin-pre", {"step": "final"}),
    ],
)
def test_a_norm_opens_its_part_of_the_model(name: str, model: str, opened: dict[str, object]) -> None:
    app = visit("norms", model=model, text="The cat sat", at=name, i="2", norm_part="one")
    assert_well(app)
    app.button(key="open-norm").click().run()
    assert not app.exception
    view = app.session_state["_view"].values
    assert {one: view[one] for one in opened} == opened
    assert view["i"] == 2


def test_the_slider_goes_through_the_layernorms() -> None:
    app = visit("norms", text="The cat sat", norm_part="one")
    slider = app.select_slider(key="norm-slider")
    assert slider.options[0] == "embedding"
    assert len(slider.options) == 13
    slider.set_value("layers.4.attention_norm").run()
    assert_well(app)
    assert app.query_params["at"] == "layers.4.attention_norm"
    assert "The L4 attention LayerNorm" in written(app)


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ({"at": "layers.99.ffn_norm"}, ("layers.99.ffn_norm", "Shown: L")),
        ({"component": "9999"}, ("9999", "0 to 383")),
        ({"component": "x"}, ("component='x'",)),
        ({"rows": "few"}, ("rows='few'",)),
    ],
)
def test_a_bad_link_falls_back_with_a_sentence(query: dict[str, str], terms: tuple[str, ...]) -> None:
    app = visit("norms", **query)
    assert_well(app)
    # The frame's notes about a link are on the page that opens first.
    said = (sentences(app) + sentences(visit(**query))).replace("\\", "")
    assert all(term in said for term in terms)


def test_pre_norm_has_a_final_layernorm() -> None:
    app = visit("norms", model="scratch", norm="pre", layers="2", at="final_norm", norm_part="one")
    assert_well(app)
    assert "This model is **pre-norm**" in written(app)
    assert "The final LayerNorm" in written(app)
    moved = written(visit("norms", norm="pre"))
    assert "with the norms moved, it is **pre-norm**" in moved
    assert "This model is" not in moved


def test_the_range_of_gain_and_bias(minilm: encoder.TextEncoder) -> None:
    shown = written(visit("norms", text="The cat sat", at="layers.2.ffn_norm", norm_part="one"))
    norm = minilm.trace("The cat sat").norms["layers.2.ffn_norm"]
    for values in (norm.gain, norm.bias):
        low = f"{number(float(values.min()))} (component {int(values.argmin())})"
        assert f"{low} to {number(float(values.max()))} (component {int(values.argmax())})" in shown
    assert "learned gain" in shown


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_untrained_encoder_has_plain_layernorms(norm: str) -> None:
    query = {"model": "scratch", "norm": norm, "text": "The cat sat"}
    shown = "".join(written(visit("norms", norm_part=part, norm_moment="after", **query)) for part in PARTS)
    assert "untrained gain" in shown
    assert re.search(r"\b[Ee]very gain\D* 1\b\D*bias\D* 0\b", shown)
    assert re.search(r"\b0 up to rounding", shown)
    assert "No component exceeds" in shown
    assert "learned" not in shown


def test_outlier_dimensions_with_their_numbers(minilm: encoder.TextEncoder) -> None:
    text = "The animal didn't cross the street because it was too tired."
    shown = written(visit("norms", text=text, at="layers.0.ffn_norm", norm_part="others"))
    x = minilm.trace(text).norms["layers.0.ffn_norm"].input.abs()
    ratio = float(x[0, 99] / x.median())
    largest = re.escape(three_digits(float(x[0, 99])))
    assert re.search(rf"component 99\b.* {largest} .*\[CLS\].* {ratio:.0f} times", shown)
    assert re.search(r"Component 99\b\D* 11 of 13\b", shown)
    largest_of = (x.max(dim=0).values / x.median()).numpy()
    found = norms.outlier_dimensions(minilm.trace(text)).at("layers.0.ffn_norm").outliers
    assert 0 < len(found) <= 8
    first = ", ".join(f"**{one}**" for one in sorted(found, key=lambda one: -largest_of[one]))
    assert f"{len(found)} of 384 components raise the standard deviation" in shown
    assert first in shown
    assert all(source in shown for source in ("Kovaleva", "Timkey", "Limits"))


def test_three_normalisations_with_their_numbers(minilm: encoder.TextEncoder) -> None:
    text, name = "The cat sat on the mat", "layers.1.ffn_norm"
    shown = written(visit("norms", text=text, at=name, norm_part="others"))
    trace = minilm.trace(text)
    x = trace.norms[name].input.double()
    rms = x / (x**2).mean(dim=1, keepdim=True).sqrt()
    batch = ((x - x.mean(dim=0)) / x.std(dim=0, correction=0)).std(dim=1, correction=0)
    means, stds = rms.mean(dim=1), rms.std(dim=1, correction=0)
    for values in (means, stds):
        assert f"{three_digits(values.min())} to {three_digits(values.max())}" in shown
    assert f"{three_digits(batch.max())} for “{trace.labels[int(batch.argmax())]}" in shown
    assert "LayerNorm 0, RMSNorm 0," in shown
    assert re.search(r"BatchNorm\b.*\bcomponent\b.*\btraining\b", shown)


def test_rmsnorm_sets_the_root_mean_square_to_1_and_not_the_deviation(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace("The cat sat on the mat")
    mean, std = explain.norm_moments(trace, minilm.trace("A dog."), "layers.1.ffn_norm").moments["rms"]
    assert np.hypot(mean, std) == pytest.approx(np.ones(len(mean)), abs=1e-5)
    assert std.min() < 0.9999


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("model", ["twin-pre", "twin-post"])
def test_the_twins(model: str, part: str) -> None:
    app = visit("norms", model=model, text="The cat sat", at="layers.3.ffn_norm", scale="log", norm_part=part)
    assert_well(app)
    assert f"**{model.replace('twin-', '')}-norm**" in written(app)
    assert "L3 FFN" in written(app)


def test_the_selected_cell_is_answered_in_one_line(minilm: encoder.TextEncoder) -> None:
    place = {"text": "The cat sat", "at": "layers.2.ffn_norm", "i": "2"}
    app = visit("norms", **place)
    norm = minilm.trace("The cat sat").norms["layers.2.ffn_norm"]
    (said,) = (line.value for line in app.caption if "“cat”" in line.value and "L2 FFN" in line.value)
    after = norm.output[2]
    numbers = norm.std[2], after.std(correction=0), norm.mean[2], after.mean()
    std, mean = (
        "{} → **{}**".format(*(three_digits(float(one)) for one in pair)) for pair in (numbers[:2], numbers[2:])
    )
    assert std in said
    assert mean in written(visit("norms", norm_part="one", **place))


def test_the_first_line_pairs_each_number_with_its_own(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace("The cat sat")
    pairs = [
        (float(before), float(after))
        for norm in trace.norms.values()
        for before, after in zip(norm.std, norm.output.std(dim=-1, correction=0), strict=True)
    ]
    for at, moment in enumerate(("before", "after")):
        shown = written(visit("norms", text="The cat sat", norm_moment=moment))
        for end in (max, min):
            assert "**{} → {}**".format(*map(three_digits, end(pairs, key=itemgetter(at)))) in shown
