"""Gradients at initialisation on the page “Train”: slopes, bounds, and settings that cannot be measured."""

from __future__ import annotations

from encoder.train import gradients
from pages.core.words.formulas import number
from tests.pages.apps import assert_well, charts, visit, written


def test_gradients_are_measured_with_the_slope_in_words() -> None:
    app = visit("training", train_part="gradients", grad_width="32", grad_depths="2,6", grad_seeds="2")
    assert_well(app)
    found = list(gradients.measure_all((2, 6), (0, 1), gradients.Setting(d_model=32)))
    for placement in ("pre", "post"):
        slope = gradients.fit_slope(found, placement)
        assert slope is not None
        assert f"{placement}-norm {number(slope, 2)}" in written(app)
    rows = gradients.to_frame(found)
    post = rows[(rows.placement == "post") & (rows.depth == 6)].groupby("layer").gradient_norm.mean()
    assert "each layer’s W_out" in written(app), "whose gradient"
    assert f"L0 {number(float(post[0]))}, L5 {number(float(post[5]))}" in written(app)
    before = gradients.measure
    gradients.measure = None  # type: ignore[assignment]
    try:
        app.segmented_control(key="gradients-one-depth").set_value(2).run()  # nothing is measured twice
    finally:
        gradients.measure = before
    assert_well(app)
    assert app.query_params["grad_depth"] == "2"


def test_gradients_of_a_real_encoder_and_of_no_depth() -> None:
    real = {"grad_setting": "real", "grad_width": "32", "grad_heads": "4"}
    app = visit("training", train_part="gradients", grad_depths="2", grad_seeds="1", **real)
    assert_well(app)
    assert "exponent" not in written(app)  # one depth has no slope
    app.number_input(key="view:grad_heads").set_value(5).run()
    assert "1, 2, 4, 8 or 16" in app.warning[0].value
    app.number_input(key="view:grad_heads").set_value(4)
    app.segmented_control(key="view:grad_depths").set_value([]).run()
    again = visit("training", train_part="gradients", grad_depths="", **real)  # the address of that view is that view
    for each in (app, again):
        assert len(each.info) == 1
        assert not each.warning
        assert not charts(each)


def test_the_limits_of_the_theory_are_named() -> None:
    app = visit("training", train_part="gradients", grad_depths="2", grad_width="32", grad_seeds="1")
    for term in ("upper bounds", "Adam", "Liu et al. 2020"):
        assert term in written(app)
