"""The page “Architecture” by AppTest: every block, the sums of the counts, the cost."""

from __future__ import annotations

import pytest

from encoder.explain.architecture import architecture
from encoder.model.config import EncoderConfig
from pages.architecture.diagram import counts
from tests.pages.apps import assert_well, formulas, sentences, visit, words

UNTRAINED = {"model": "scratch", "width": "24", "heads": "3", "ffn": "40", "layers": "2"}


@pytest.mark.parametrize("block", ["ids", "embedding.tokens", "q", "scores", "attention", "z", "ffn.hidden", "pooling"])
def test_every_block_opens(block: str) -> None:
    app = visit("architecture", layer="3", block=block)
    assert_well(app)
    assert not app.warning
    assert "22,713,216" in words(app)


def test_the_drawing_follows_the_architecture() -> None:
    app = visit("architecture", norm="pre", block="ffn.hidden", gated="1", activation="relu", **UNTRAINED)
    assert_well(app)
    assert "pre-norm" in words(app)
    assert set(app.dataframe[-1].value["Layer"]) == {"", "0", "1"}
    assert "ReLU" in words(app)
    assert "W\\_gate" in words(app)


def test_a_block_that_is_not_there_is_named() -> None:
    app = visit("architecture", block="nonsense")
    assert_well(app)
    assert "nonsense" in sentences(app)
    assert "Softmax" in words(app)


def test_the_stack_is_a_slider() -> None:
    app = visit("architecture", layer="1", block="q")
    app.slider(key="stack").set_value(4).run()
    assert_well(app)
    assert app.query_params["layer"] == "4"
    assert "Queries in layer 4" in words(app)


def test_a_block_leads_to_its_step() -> None:
    app = visit("architecture", layer="2", block="v", i="4")
    app.button(key="explain").click().run()
    assert_well(app)
    assert app.query_params["step"] == "qkv"
    assert app.query_params["vector"] == "v"
    assert app.query_params["j"] == "4"
    assert app.segmented_control(key="view:step").value == "qkv"


@pytest.mark.parametrize("says", ["parameters", "flops", "memory"])
def test_what_the_blocks_say_adds_up(says: str) -> None:
    drawn = architecture(EncoderConfig(vocab_size=50, d_model=24, n_layers=4, n_heads=3, d_ffn=40), 7)
    counted = counts(drawn, 2, says)
    assert {"stack.before", "stack.after", "layer", "layers.2.q", "embedding.tokens"} <= set(counted)
    shown = [value for key, value in counted.items() if key != "layer"]
    inside = sum(value for key, (value, _) in counted.items() if key.startswith("layers.2."))
    assert counted["layer"][0] == inside == counted["stack.after"][0] == counted["stack.before"][0] / 2
    assert sum(share for _, share in shown) == pytest.approx(1)
    assert_well(visit("architecture", says=says))


def test_parameters_add_up() -> None:
    app = visit("architecture")
    table = app.dataframe[-1].value
    assert table["Parameters"].sum() == 22_713_216
    assert table["Share"].sum() == pytest.approx(1)


def test_the_cost_in_formulas() -> None:
    app = visit("architecture", show="cost")
    assert_well(app)
    assert "2{,}304" in formulas(app)
    assert r"2\,n^{2}\,HK" in words(app)
    assert app.button(key="measure")


def test_the_time_is_measured_and_kept() -> None:
    app = visit("architecture", show="cost", **(UNTRAINED | {"layers": "1"}))
    app.button(key="measure").click().run()
    assert_well(app)
    assert "GFLOP/s" in words(app)
    app.button(key="stop").click().run()
    assert_well(app)
    assert "GFLOP/s" in words(app)


def test_an_old_link_to_the_residual_stream_opens_the_picture_of_the_model() -> None:
    app = visit("architecture", show="stream", text="one two three", i="2")
    assert_well(app)
    assert app.title[0].value.startswith("See what")
    assert app.query_params["i"] == "2"
