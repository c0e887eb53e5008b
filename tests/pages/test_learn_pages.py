"""The pages under Learn by AppTest: each step, each block, the worked example; links, odd texts, many models."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from encoder.config import EncoderConfig
from encoder.explain import STEPS
from encoder.explain.architecture import architecture
from encoder.explain.by_hand import Inputs
from pages.architecture.diagram import counts
from pages.by_hand import editable_inputs
from tests.pages.apps import assert_well, sentences, visit

STEP_KEYS = [step.key for step in STEPS]
SCRATCH = {"model": "scratch", "width": "24", "heads": "3", "ffn": "40", "layers": "2"}


def words(app: AppTest) -> str:
    """Everything in running text, tables left out."""
    return "\n".join(element.value for kind in ("markdown", "caption", "subheader") for element in app.get(kind))


def formulas(app: AppTest) -> str:
    return "\n".join(element.value for element in app.get("latex"))


@pytest.mark.parametrize("key", STEP_KEYS)
def test_every_step_with_its_check(key: str) -> None:
    app = visit("forward_pass", step=key, layer="2", head="3", i="5", j="2", check="1")
    assert_well(app)
    assert not app.warning
    assert next(step.question for step in STEPS if step.key == key) in words(app)
    assert ("looked up anew" if key == "ids" else "in float64") in words(app)
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
def test_every_step_of_an_encoder_from_scratch(key: str, model: dict[str, str]) -> None:
    app = visit("forward_pass", step=key, text="one two", check="1", **SCRATCH, **model)
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
    app = visit("forward_pass", step="softmax", text="cat " * 1_100, check="1", positions="rotary", **SCRATCH)
    assert_well(app)
    assert "offered up to 1,024" in sentences(app)


def test_a_batch_of_a_very_long_text_says_why_not() -> None:
    app = visit("forward_pass", step="ids", text="cat " * 2_100, positions="rotary", **SCRATCH)
    assert_well(app)
    assert "offered up to 2,048" in sentences(app)


def test_the_number_of_the_formula_is_the_traces() -> None:
    import encoder

    weight = float(encoder.load("minilm").trace("The cat sat").attention(1, 8)[2, 3])
    app = visit("forward_pass", step="softmax", text="The cat sat", layer="1", head="8", i="2", j="3")
    assert f"{weight:.4f}" in formulas(app)
    assert f"**{weight:.4f}**" in words(app)


def test_the_way_from_a_weight_to_its_query_and_back() -> None:
    app = visit("forward_pass", step="softmax", text="The cat sat", layer="1", head="8", i="2", j="3")
    app.button(key="to-q").click().run()
    assert_well(app)
    assert app.query_params["step"] == "qkv"
    assert app.segmented_control(key="view:step").value == "qkv"
    back = next(button for button in app.button if button.label.startswith("Back to the score"))
    assert "“cat” → “sat”" in back.label
    back.click().run()
    assert app.query_params["step"] == "scores"
    assert app.query_params["i"] == "2"
    assert app.query_params["j"] == "3"


def test_the_place_is_chosen_by_widgets_too() -> None:
    app = visit("forward_pass", step="qkv", text="The cat sat")
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
    plain = visit("forward_pass", step="softmax", layer="2", head="3", i="5", j="2")
    other = visit("forward_pass", step="softmax", layer="2", head="3", i="5", j="2", scaled="0", temperature="2")
    assert_well(other)
    assert formulas(plain) != formulas(other)
    assert r"\tau" in formulas(other)
    assert "it must lie between 0.1 and 5" in sentences(visit(temperature="9")).replace("\\", "")


def test_the_strongest_neuron_is_written_out_until_another_is_chosen() -> None:
    import encoder
    from encoder import explain

    trace = encoder.load("minilm").trace("The cat sat")
    strongest = int(explain.feed_forward(trace, explain.Place(layer=1, query=2)).strongest(1)[0])
    app = visit("forward_pass", step="ffn", text="The cat sat", layer="1", i="2")
    assert app.number_input(key="place:neuron").value == strongest
    assert "neuron" not in app.query_params
    app.number_input(key="place:neuron").set_value(5).run()
    assert_well(app)
    assert app.query_params["neuron"] == "5"
    assert "a_{2,5}" in formulas(app)


def test_padding_is_proved_with_what_is_typed() -> None:
    app = visit("forward_pass", step="ids", text="A much longer first sentence.")
    app.text_input(key="view:second").set_value("Short.").run()
    assert_well(app)
    table = app.dataframe[-1].value
    assert table["padding"].tolist()[0] == 0
    assert all(float(value) < 1e-4 for value in table["difference"])
    assert all(float(value) > 0.05 for value in table["unmasked"][1:])
    assert "which is rounding" in words(app)
    assert "filled up with \\[PAD\\]" in words(app)


def test_the_whole_chain() -> None:
    app = visit("forward_pass", step="output", text="The cat sat")
    next(button for button in app.button if button.label == "Compute the whole chain").click().run()
    assert_well(app)
    table = next(frame.value for frame in app.dataframe if "stage" in frame.value and "size" in frame.value)
    assert len(table) == 14
    assert all(float(value) < 1e-4 for value in table["difference"])


# --- architecture -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", ["ids", "embedding.tokens", "q", "scores", "attention", "z", "ffn.hidden", "pooling"])
def test_every_block_opens(block: str) -> None:
    app = visit("architecture", layer="3", block=block)
    assert_well(app)
    assert not app.warning
    assert "22,713,216 parameters" in words(app)


def test_the_drawing_follows_the_architecture() -> None:
    app = visit("architecture", norm="pre", block="ffn.hidden", gated="1", activation="relu", **SCRATCH)
    assert_well(app)
    assert "2 layers, pre-norm" in words(app)
    assert "ReLU" in words(app)
    assert "W\\_gate" in words(app)


def test_a_block_that_is_not_there_is_named() -> None:
    app = visit("architecture", block="nonsense")
    assert_well(app)
    assert "this encoder has no such block" in sentences(app)
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
    assert table["parameters"].sum() == 22_713_216
    assert table["share"].sum() == pytest.approx(1)


def test_the_cost_in_formulas() -> None:
    app = visit("architecture", show="cost")
    assert_well(app)
    assert "2{,}304" in formulas(app)
    assert r"2\,n^{2}\,HK" in words(app)
    assert "Measured on this machine" in words(app)


def test_the_time_is_measured_and_kept() -> None:
    app = visit("architecture", show="cost", **(SCRATCH | {"layers": "1"}))
    app.button(key="measure").click().run()
    assert_well(app)
    assert "GFLOP/s" in words(app)
    app.button(key="stop").click().run()
    assert_well(app)
    assert "GFLOP/s" in words(app)


# --- the worked example ----------------------------------------------------------------------------------------------


def test_the_worked_example_by_its_own_numbers() -> None:
    app = visit("by_hand")
    assert_well(app)
    assert "hand" not in app.query_params
    assert "0.8415 & 0.5403 & 0.0100 & 1.0000" in formulas(app)
    assert "0.99995" in formulas(app)
    assert "The notes give 0.84, 0.54, 0.08, 0.99 for it" in words(app)


def test_what_the_notes_say_beside_what_comes_out() -> None:
    app = visit("by_hand", worked="notes")
    assert_well(app)
    assert words(app).count(":red-badge") == 4
    assert words(app).count(":green-badge") == 4
    positions = app.dataframe[0].value
    assert positions["0"].tolist() == ["0.84", "0.84147 ✓", "0.90", "0.9093 ✗"]
    assert positions["1"].tolist() == ["0.54", "0.5403 ✓", "0.43", "-0.41615 ✗"]
    assert positions["2"].tolist() == ["0.08", "0.01 ✗", "0.16", "0.02 ✗"]
    assert positions["3"].tolist() == ["0.99", "0.99995 ✗", "0.99", "0.9998 ✗"]
    assert "4 agree" in words(app)


def test_the_other_half_and_other_pages_keep_what_was_changed() -> None:
    changed = json.dumps({"w_o": [[0.5] * 4] * 4, "eps": 0.5}, separators=(",", ":"))
    app = visit("by_hand", hand=changed)
    before = formulas(app)
    app.segmented_control(key="view:worked").set_value("notes").run()
    assert app.query_params["hand"] == changed
    app.segmented_control(key="view:worked").set_value("calculation").run()
    assert_well(app)
    assert formulas(app) == before
    assert app.query_params["hand"] == changed


def test_the_norms_epsilon_is_a_number_like_any_other() -> None:
    app = visit("by_hand")
    before = formulas(app)
    next(field for field in app.number_input if field.label.startswith("ε")).set_value(2.0).run()
    assert_well(app)
    assert json.loads(app.query_params["hand"]) == {"eps": 2.0}
    assert formulas(app) != before


def test_with_the_notes_encoding() -> None:
    app = visit("by_hand", hand=json.dumps({"positions": "notes"}))
    assert_well(app)
    assert "1.3400 & 0.6400 & 0.9800 & 1.6900" in formulas(app)
    assert "2.496 & 2.358 & 2.220 & 2.082" in formulas(app)


def test_choices_go_into_the_address_and_back() -> None:
    app = visit("by_hand")
    for label, value in (("Positional encoding", "notes"), ("Norm placement", "pre")):
        choices = [field for field in app.segmented_control if field.label == label and field.key.startswith("hand:")]
        choices[0].set_value(value).run()
    assert_well(app)
    assert json.loads(app.query_params["hand"]) == {"positions": "notes", "norm_placement": "pre"}
    assert "stream as it is" in words(app)
    next(button for button in app.button if button.label.startswith("Back to the example")).click().run()
    assert_well(app)
    assert "hand" not in app.query_params
    assert "stream as it is" not in words(app)


def test_numbers_in_a_link() -> None:
    zeros = [[0.0] * 4] * 4
    app = visit("by_hand", hand=json.dumps({"w_q": zeros}))
    assert_well(app)
    assert "0.3333 & 0.3333 & 0.3333" in formulas(app)


@pytest.mark.parametrize("text", ["nonsense", "[1]", '{"w_x":1}', '{"positions":"rotary"}'])
def test_a_link_that_cannot_be_read_falls_back(text: str) -> None:
    app = visit("by_hand", hand=text)
    assert not app.exception
    assert "Shown: the example's own" in sentences(app)
    assert "0.8415 & 0.5403" in formulas(app)


def test_numbers_that_do_not_fit_are_named_and_nothing_breaks() -> None:
    app = visit("by_hand", hand=json.dumps({"w_q": [[1.0, 2.0]]}))
    assert not app.exception
    (said,) = app.warning  # once, not beside every step
    assert "W_Q: 1 × 2 numbers, but 4 × 4 fit" in said.value


@pytest.mark.parametrize(
    "changes",
    [
        {"eps": None}, {"eps": "x"}, {"eps": -1}, {"eps": True}, {"embeddings": 5}, {"embeddings": [["a"] * 4] * 3},
        {"embeddings": [[1, 2], [3, 4]]}, {"w_q": []}, {"w_q": [[]]}, {"b_in": [[1]]}, {"b_in": "12"},
    ],
)  # fmt: skip
def test_a_links_numbers_that_are_none_are_refused_in_a_sentence(changes: dict) -> None:
    app = visit("by_hand", hand=json.dumps(changes))
    assert_well(app)
    assert "Shown: the example's own" in sentences(app)


@pytest.mark.parametrize("large", [1e5, 1e200, 1e308])
def test_numbers_too_large_to_calculate_with_are_named(large: float) -> None:
    rows = [list(row) for row in Inputs().embeddings]
    rows[1][1] = -large
    app = visit("by_hand", hand=json.dumps({"embeddings": rows}))
    assert not app.exception
    assert f"The embeddings: {-large:g} is too large to calculate with" in sentences(app)


def test_a_links_epsilon_may_be_a_whole_number() -> None:
    assert_well(visit("by_hand", hand=json.dumps({"eps": 0})))


def test_what_is_changed_can_be_read_back() -> None:
    inputs = Inputs().replace(w_o=[[0.5] * 4] * 4, norm_placement="pre", scaled=False, eps=0.1)
    assert editable_inputs.decode(editable_inputs.encode(inputs)) == inputs
    assert editable_inputs.encode(Inputs()) == ""
