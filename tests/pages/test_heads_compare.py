"""Compare under AppTest: side B, one selection for both, examples, long texts, errors."""

from __future__ import annotations

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.figures.numbers import three_digits
from encoder.inputs.layout import InputKind
from encoder.measure import align
from encoder.measure.map_comparison import distance_by_head
from encoder.run import Run, Text
from encoder.views.options import COMPARED
from pages.core.stores import cache
from pages.core.widgets import examples
from pages.heads.compare import sides as compare
from tests.pages.apps import assert_well, exported, noted, numbers, sentences, visit

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

RIVER, MONEY = "We walked along the bank of the river.", "We walked to the bank to get our money."
LONG = "attention is all you need " * 80


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


def beside(**query: str) -> AppTest:
    """The view “Compare” of the page Heads."""
    return visit("heads", view="beside", **query)


def written(app: AppTest) -> str:
    return "\n".join(element.value for kind in ("markdown", "caption") for element in app.main.get(kind)).replace(
        "\\", ""
    )


@pytest.mark.parametrize("what", list(COMPARED))
@pytest.mark.parametrize("text", ["", "القطة the **b** $x$ the <i> 😀"])
def test_any_text_on_either_side(what: str, text: str):
    app = beside(compare=what, text=text)
    assert_well(app)
    if what == "sentences":
        for other in (text, "x"):
            app.main.text_input(key="view:text_b").set_value(other).run()
            assert_well(app)
            assert ("Sentence B is empty" in sentences(app)) == (other == "")


def test_one_selection_in_both_sentences(minilm: encoder.TextEncoder):
    first, second = minilm.trace(RIVER), minilm.trace(MONEY)
    steps = align.align_traces(first, second)
    bank = first.labels.index("bank"), second.labels.index("bank")
    app = beside(compare="sentences", text=RIVER, text_b=MONEY, layer="1", head="8", i=str(bank[0]), j="0")
    assert_well(app)
    ours, theirs = (float(trace.attention(1, 8)[token, 0]) for trace, token in zip((first, second), bank, strict=True))
    in_a, in_b = (re.escape(three_digits(weight)) for weight in (ours, theirs))
    assert re.search(rf"“\[CLS\]”\*\*\W+{in_a}\*\*\D*\bA\b\D*{in_b}\*\*\D*\bB\b", written(app))
    assert "“the (4 | 6)”" in written(app), "positions of repeated words are explained"
    assert steps.kinds[steps.step_of(bank[0])] == "same"


def test_a_small_difference_is_not_written_as_0():
    app = beside(
        compare="heads",
        text="the cat sat on the mat",
        layer="0",
        head="2",
        layer_b="0",
        head_b="2",
        i="1",
        j="2",
        special="renormalise",
    )
    assert "B − A: **0**" in written(app)
    trace = cache.trace(Run(input=Text("the cat sat on the mat")))
    change = (trace.attention(4, 1) - trace.attention(0, 2))[5]
    least = int(change.abs().argmin())
    app = beside(
        compare="heads",
        text="the cat sat on the mat",
        layer="0",
        head="2",
        layer_b="4",
        head_b="1",
        i="5",
        j=str(least),
    )
    said = re.search(r"B − A: \*\*([+−])([0-9.e-]+)\*\*", written(app))
    assert said is not None
    assert float(said[1].replace("−", "-") + said[2]) == pytest.approx(float(change[least]), rel=5e-3)


def test_a_token_that_only_side_b_has_can_be_selected():
    app = beside(compare="sentences", text="a b", text_b="a new b", i_b="2")
    assert_well(app)
    assert "Largest for **“new”**" in written(app)
    app.main.button(key="clear-selection").click().run()
    assert "i_b" not in app.query_params
    assert "clear-selection" not in [button.key for button in app.main.button]


def test_clicks_become_tokens_of_either_side(monkeypatch: pytest.MonkeyPatch):
    put: dict[str, int | None] = {}
    monkeypatch.setattr(compare.state, "put", lambda param, value: put.__setitem__(param.name, value))
    steps = align.align("abd", "abcd")
    take = compare.select_on_click(steps, 1)
    take({"event": "click", "axis": "cell", "i": 2, "j": 3, "trace": 0})
    assert put == {"i": None, "i_b": 2, "j": 2, "j_b": None}
    put.clear()
    take({"event": "click", "axis": "y", "i": 3})
    assert put == {"i": 2, "i_b": None}
    take({"event": "click", "axis": "clear"})
    assert set(put.values()) == {None}
    put.clear()
    compare.select_on_click(steps, 2)({"event": "click", "axis": "cell", "i": 1, "j": 1, "trace": 0})
    assert put == {}, "a cell of a pooled map is not a token"


def test_the_grid_chooses_a_head_and_shows_how_much_differs(monkeypatch: pytest.MonkeyPatch):
    put: dict[str, int | None] = {}
    monkeypatch.setattr(compare.state, "put", lambda param, value: put.__setitem__(param.name, value))
    compare.open_head("heads", 3, 7)
    assert put == {"layer_b": 3, "head_b": 7}
    put.clear()
    compare.open_head("models", 3, 1)
    assert put == {"layer": 3, "head": 1, "layer_b": None, "head_b": None}
    monkeypatch.undo()
    traces = cache.trace(Run(input=Text(RIVER))), cache.trace(Run(input=Text(MONEY)))
    steps = align.align_traces(*traces)
    found = distance_by_head(*traces, steps)
    layer, head = np.unravel_index(int(found.argmax()), found.shape)
    app = beside(compare="sentences", text=RIVER, text_b=MONEY)
    assert f"largest in L{layer} H{head}: {found[layer, head]:.0%}" in written(app)


@pytest.mark.parametrize(("model", "kind"), [("minilm", "text"), ("digits-post", "image"), ("spoken-digits", "sound")])
def test_every_example_shows_a_difference(model: str, kind: InputKind):
    for title, values in examples.read(compare.__file__, kind).items():
        one_example(beside(model=model), title, values["compare"])


def one_example(app: AppTest, title: str, what: object):
    app.main.selectbox(key="compare:example").set_value(title).run()
    assert_well(app)
    assert app.session_state["_view"].values["compare"] == what
    assert "Largest difference" in written(app)


def test_the_same_head_twice_does_not_differ():
    app = beside(layer="1", head="3", layer_b="1", head_b="3")
    assert_well(app)
    assert "the same**" in written(app)
    assert "Largest difference" not in written(app)


def test_a_head_that_side_b_lacks_is_said():
    app = beside(compare="models", model_b="twin-pre", layer_b="9", head_b="2")
    assert_well(app)
    assert numbers(noted(app, "link_off")) == [9, 0, 3, 3]


def test_models_of_other_sizes_and_vocabularies():
    app = beside(compare="models", model_b="twin-post", layer="5", head="11")
    assert_well(app)
    assert "TracedHead(trace, 5, 11), map_comparison.TracedHead(other, 3, 3)" in exported(app)
    assert "do not correspond" in written(app)
    ours, theirs = (encoder.load(name).config for name in ("minilm", "twin-post"))
    count = ours.n_layers * ours.n_heads
    missing = count - min(ours.n_layers, theirs.n_layers) * min(ours.n_heads, theirs.n_heads)
    assert f"({missing} of {count})" in written(app)


@pytest.mark.parametrize(("source", "said"), [("", "Hub id"), ("/no/such/folder", "no/such/folder")])
def test_a_model_b_that_cannot_be_is_a_sentence(source: str, said: str):
    app = beside(compare="models", model_b="other", source_b=source)
    assert not app.exception
    assert said in sentences(app)


def test_moved_norms_are_said_to_be_untrained():
    app = beside(compare="models")
    assert "without retraining" in sentences(app)
    assert "do not correspond" not in written(app)


def test_long_texts_are_compared_in_blocks():
    app = beside(compare="sentences", text=LONG, text_b=f"so {LONG}")
    assert_well(app)
    assert "2 × 2 pairs of tokens" in written(app)


def test_far_too_long_texts_leave_out_what_would_take_long():
    config = {"model": "scratch", "layers": "1", "heads": "2", "width": "16", "ffn": "16", "positions": "none"}
    app = beside(compare="heads", text="word " * 1_500, **config)
    assert_well(app)
    assert "1,024 tokens" in written(app)


def test_pre_norm_is_teal_on_either_side(minilm: encoder.TextEncoder):
    run = Run(input=Text("a"))
    sides = [compare.Side(one, name) for name, one in (("A", run.but(norm="pre")), ("B", run))]
    assert [side.name for side in compare.Sides("models", *sides).ends] == ["B", "A"]
    assert [side.name for side in compare.Sides("heads", *sides).ends] == ["A", "B"]


def test_what_is_said_is_what_the_maps_say(minilm: encoder.TextEncoder):
    app = beside(compare="heads", text="a b c", layer="2", head="3", layer_b="4", head_b="5")
    trace = minilm.trace("a b c")
    difference = (trace.attention(4, 5) - trace.attention(2, 3)).numpy()
    distance = np.abs(difference).sum(axis=1) / 2
    assert f"mean **{distance.mean():.0%}**" in written(app)
    row, column = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    assert f"**“{trace.labels[row]}”** to **“{trace.labels[column]}”**" in written(app)


def test_two_images_are_shown_beside_their_names() -> None:
    app = beside(model="digits-pre", image="3", compare="sentences", input_b="8")
    assert_well(app)
    assert [one.proto.imgs[0].caption for one in app.main.get("image")] == ["A", "B"]
    assert not beside(model="digits-pre", compare="heads").main.get("image")
