"""The page “Forward pass, step by step” by AppTest: each step with its check, links, odd texts, many models."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder import explain
from encoder.explain import STEPS
from encoder.figures.numbers import three_digits
from pages.components.lazy import KEY
from tests.pages.apps import assert_well, formulas, sentences, visit, words

STEP_KEYS = [step.key for step in STEPS]
UNTRAINED = {"model": "scratch", "width": "24", "heads": "3", "ffn": "40", "layers": "2"}
PLACE = {"layer": "2", "head": "3", "i": "5", "j": "2"}


def check_table(app) -> list[list[str]]:
    """The rows of the check: name, numbers, difference, relative."""
    return next(frame.value.to_numpy().tolist() for frame in app.dataframe if "Compared" in frame.value)


@pytest.mark.parametrize("key", STEP_KEYS)
def test_every_step_with_its_check(key: str) -> None:
    app = visit("forward_pass", step=key, check="1", **PLACE)
    assert_well(app)
    assert not app.warning
    assert next(step.question for step in STEPS if step.key == key) in words(app)
    assert all(float(relative) <= 1e-4 for *_, relative in check_table(app))
    assert ":material/check_circle:" in words(app)
    assert ":material/error:" not in words(app)
    assert formulas(app)


@pytest.mark.parametrize("key", STEP_KEYS)
@pytest.mark.parametrize(
    "model",
    [
        {"norm": "pre", "positions": "rotary", "gated": "1", "activation": "silu"},
        {"norm": "post", "positions": "none", "activation": "relu"},
        {"norm": "pre", "positions": "sinusoidal"},
    ],
    ids=["pre rotary gated", "post none ReLU", "pre sinusoidal"],
)
def test_every_step_of_an_untrained_encoder(key: str, model: dict[str, str]) -> None:
    app = visit("forward_pass", step=key, text="one two", check="1", **UNTRAINED, **model)
    assert_well(app)
    assert ":material/error:" not in words(app)


@pytest.mark.parametrize("key", STEP_KEYS)
@pytest.mark.parametrize("text", ["", "🙂 猫 <b>x</b> $y$", "a a a a"])
def test_every_step_of_odd_texts(key: str, text: str) -> None:
    assert_well(visit("forward_pass", step=key, text=text))


@pytest.mark.parametrize("key", ["ids", "scores", "softmax", "mixing", "ffn", "output"])
def test_long_texts_are_drawn_in_parts(key: str) -> None:
    app = visit("forward_pass", step=key, text="the cat sat on the mat " * 70, i="200", j="300")
    assert_well(app)


def test_the_check_of_a_very_long_text_says_why_not() -> None:
    app = visit("forward_pass", step="softmax", text="cat " * 1_100, check="1", positions="rotary", **UNTRAINED)
    assert_well(app)
    assert "1,024" in sentences(app)


def test_a_batch_of_a_very_long_text_says_why_not() -> None:
    app = visit("forward_pass", step="ids", text="cat " * 2_100, positions="rotary", **UNTRAINED)
    open_padding(app)
    assert_well(app)
    assert "2,048" in sentences(app)


def test_the_number_of_the_formula_is_the_traces() -> None:
    weight = float(encoder.load("minilm").trace("The cat sat").attention(1, 8)[2, 3])
    app = visit("forward_pass", step="softmax", text="The cat sat", layer="1", head="8", i="2", j="3")
    assert f"{weight:.4f}" in formulas(app)
    assert f"**{three_digits(weight)}**" in words(app)


def test_the_way_from_a_weight_to_its_query_and_back() -> None:
    app = visit("forward_pass", step="softmax", text="The cat sat", layer="1", head="8", i="2", j="3")
    app.button(key="to-q").click().run()
    assert_well(app)
    assert app.query_params["step"] == "qkv"
    assert app.segmented_control(key="view:step").value == "qkv"
    back = app.button(key="back")
    assert "“cat” → “sat”" in back.label
    back.click().run()
    assert app.query_params["step"] == "scores"
    assert app.query_params["i"] == "2"
    assert app.query_params["j"] == "3"


def test_the_place_is_chosen_by_widgets_too() -> None:
    app = visit("forward_pass", step="qkv", text="The cat sat", layer="0")
    app.selectbox(key="place:i").set_value(3).run()
    app.number_input(key="place:component").set_value(7).run()
    assert_well(app)
    assert app.query_params["i"] == "3"
    assert app.query_params["component"] == "7"
    assert r"{q_{3,7}}" in formulas(app)


def test_the_next_step_is_a_button_away() -> None:
    app = visit("forward_pass")
    for key in STEP_KEYS[1:]:
        app.button(key="step+1").click().run()
        assert_well(app)
        assert app.query_params["step"] == key


def test_leaving_the_scale_out_and_the_temperature() -> None:
    plain = visit("forward_pass", step="softmax", **PLACE)
    other = visit("forward_pass", step="softmax", scaled="0", temperature="2", **PLACE)
    assert_well(other)
    assert formulas(plain) != formulas(other)
    assert r"\tau" in formulas(other)
    assert "temperature" in sentences(visit(temperature="9"))


def test_the_strongest_neuron_is_written_out_until_another_is_chosen() -> None:
    trace = encoder.load("minilm").trace("The cat sat")
    strongest = int(explain.feed_forward(trace, explain.Place(layer=1, query=2)).strongest(1)[0])
    app = visit("forward_pass", step="ffn", text="The cat sat", layer="1", i="2")
    assert app.number_input(key="place:neuron").value == strongest
    assert "neuron" not in app.query_params
    app.number_input(key="place:neuron").set_value(5).run()
    assert_well(app)
    assert app.query_params["neuron"] == "5"
    assert "a_{2,5}" in formulas(app)


def column(table: pd.DataFrame, term: str) -> pd.Series:
    """The one column with this term in its name."""
    (name,) = (name for name in table.columns if term in name)
    return table[name]


def open_padding(app: AppTest) -> None:
    """Open the part about padding, which is closed at first."""
    assert "view:second" not in {field.key for field in app.text_input}
    app.session_state[f"{KEY}padding"] = True
    app.run()


def test_padding_is_proved_with_what_is_typed() -> None:
    app = visit("forward_pass", step="ids", text="A much longer first sentence.")
    open_padding(app)
    app.text_input(key="view:second").set_value("Short.").run()
    assert_well(app)
    table = app.dataframe[-1].value
    assert table["Padding"].tolist()[0] == 0
    assert all(float(value) < 1e-4 for value in column(table, "alone"))
    assert all(float(value) > 0.05 for value in column(table, "mask")[1:])
    assert "\\[PAD\\]" in words(app)


def test_the_whole_chain() -> None:
    app = visit("forward_pass", step="output", text="The cat sat")
    app.button(key="chain").click().run()
    assert_well(app)
    table = next(frame.value for frame in app.dataframe if "Largest number" in frame.value)
    assert len(table) == 14
    assert all(float(value) < 1e-4 for value in column(table, "difference"))


def test_the_ffn_step_leads_to_its_norm() -> None:
    app = visit("forward_pass", step="ffn", **PLACE)
    app.button(key="to-norm").click().run()
    assert_well(app)
    assert app.query_params["step"] == "norm"
    assert app.query_params["part"] == "ffn"


def test_the_value_step_leads_back_to_the_weighted_sum() -> None:
    app = visit("forward_pass", step="mixing", **PLACE)
    app.button(key="to-v").click().run()
    assert app.query_params["vector"] == "v"
    app.button(key="back").click().run()
    assert_well(app)
    assert app.query_params["step"] == "mixing"


@pytest.mark.parametrize("key", ["scores", "softmax", "mixing"])
@pytest.mark.parametrize("model", [{}, UNTRAINED | {"norm": "pre", "positions": "rotary"}], ids=["MiniLM", "untrained"])
def test_the_animation_takes_the_place_of_the_map(key: str, model: dict[str, str]) -> None:
    app = visit("forward_pass", step=key, picture="animation", text="one two", check="1", **model)
    assert_well(app)
    assert not formulas(app)
    assert ":material/check_circle:" in words(app)
    app.segmented_control(key="view:picture").set_value("map").run()
    assert_well(app)
    assert formulas(app)
    assert_well(visit("forward_pass", step=key, picture="animation", text="the cat sat on the mat " * 70, i="200"))


def test_a_click_is_answered_in_one_line() -> None:
    trace = encoder.load("minilm").trace("The cat sat")
    query = {"text": "The cat sat", "layer": "1", "head": "8", "i": "2", "j": "3", "component": "4"}
    q, k, v = trace.q[1, 8, 2], trace.k[1, 8, 3], trace.v[1, 8, 3]
    score, weight = trace.scores(1, 8)[2, 3], trace.attention(1, 8)[2, 3]
    numbers = {
        "qkv": [q[4]],
        "scores": [q @ k, score],
        "softmax": [score, weight],
        "mixing": [weight, v[4], weight * v[4], trace.z(1, 8)[2, 4]],
        "norm": [trace.values["layers.1.after_attention"][2, 4]],
    }
    for step, values in numbers.items():
        said = next(line.value for line in visit("forward_pass", step=step, **query).markdown if is_answer(line.value))
        assert all(three_digits(float(value)) in said for value in values), step
    for step in set(STEP_KEYS) - {"ids"}:
        assert [line for line in visit("forward_pass", step=step, **query).markdown if is_answer(line.value)], step


def is_answer(text: str) -> bool:
    """Whether this is the line that names the selected token and, in bold, its number."""
    return bool(re.search(r"“(cat|sat)”.*\*\*−?-?[\d.e-]+\*\*[.;]", text))
