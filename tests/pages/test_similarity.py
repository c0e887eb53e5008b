"""Sentence similarity under AppTest: the numbers on the page are the engine's, and work can be interrupted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder import similarity
from encoder.run import ModelSpec
from pages.base.work import long_work
from pages.core.stores import model_store
from pages.core.widgets import answer, examples
from pages.core.words import formulas
from pages.similarity import controls
from pages.similarity.attributed import LONGEST
from tests.load import every_family
from tests.pages.apps import assert_well, noted, numbers, press, sentences, visit, words, written

A, B = "The tokenizers sat", "A kitten rested"


def check(app: AppTest) -> list[float]:
    """The numbers of the check, from top to bottom."""
    table = next(element.value for element in app.markdown if "The check" in element.value)
    found = re.findall(r"\| [^|]* \| [^|]*?(−?\d[\d.]*(?:e-\d+)?)[^\d]", table.replace("(−", "−"))
    return [float(number.replace("−", "-")) for number in found]


def test_the_cells_the_terms_and_the_error_are_the_engines(minilm: encoder.TextEncoder):
    app = visit("similarity", text=A, similar_to=B, path_steps="8", token_a="3", token_b="2")
    assert_well(app)
    found = similarity.attribute(minilm, A, B, steps=8)
    expected = [found.cosine, *found.references, found.expected_sum, found.matrix.sum(), found.error]
    assert check(app) == pytest.approx(expected, abs=1e-4)
    assert re.search(r"\b8 steps", words(app))
    cells = similarity.token_cells(found)
    assert formulas.number(abs(found.matrix[3, 2])) in written(app)
    assert f"({answer.ordinal(cells.rank(3, 2))} of {found.matrix.size})" in written(app)

    app.toggle(key="view:whole_words").set_value(True).run()
    assert_well(app)
    whole = similarity.word_cells(found)
    assert whole.labels[0][2] == "tokenizers"
    assert f"({answer.ordinal(whole.rank(2, 2))} of {whole.matrix.size})" in written(app)
    assert check(app) == pytest.approx(expected, abs=1e-4), "the sum over whole words is the same"


def test_at_the_output_the_split_needs_no_reference(minilm: encoder.TextEncoder):
    app = visit("similarity", text=A, similar_to=B, vectors="6", reference="zero")
    assert_well(app)
    cosine, total, error = check(app)
    one, other = minilm.embed([A, B]).double().numpy()
    assert cosine == pytest.approx(one @ other / np.linalg.norm(one) / np.linalg.norm(other), abs=1e-4)
    assert total == cosine
    assert error < 1e-3


@pytest.mark.parametrize(("text", "other"), [("", "x"), ("x", ""), ("القطة the **b** $x$ <i> 😀", "a | b\n`c`")])
def test_any_text_on_either_side(text: str, other: str):
    app = visit("similarity", text=text, similar_to=other, vectors="6", token_a="1", token_b="0")
    assert_well(app)
    assert ("Sentence B is empty" in sentences(app)) == (not other)


def test_an_example_sets_both_sentences():
    app = visit("similarity", vectors="6", token_a="3")
    title, values = next(iter(examples.read(controls.__file__, "pairs").items()))
    app.selectbox(key="similarity:example").set_value(title).run()
    assert_well(app)
    assert app.query_params["text"] == values["text"]
    assert app.text_input(key="view:similar_to").value == values["similar_to"]
    assert "token_a" not in app.query_params


def test_a_layer_that_the_model_does_not_have_is_noted():
    app = visit("similarity", text=A, similar_to=B, vectors="9")
    assert_well(app)
    assert numbers(noted(app, "link_off")) == [9, 0, 6, 6]
    assert check(app)[0] == check(app)[1]


def test_a_model_with_experts_is_split_at_the_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Along a path its router jumps, and the parts do not add up."""
    case = every_family.ALL["mixtral"]
    folder = every_family.write(case, case.make(), tmp_path / "mixtral")
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    texts = {"text": "w7 w20 w33 w8", "similar_to": "w9 w20 w8"}
    app = visit("similarity", model="other", source="mixtral", vectors="1", **texts)
    assert "layer 1" in app.warning[0].value, "the link asks for other vectors"
    app = visit("similarity", model="other", source="mixtral", **texts)
    assert_well(app)
    assert not app.warning
    found = similarity.attribute(encoder.load(folder, device="cpu"), "w7 w20 w33 w8", "w9 w20 w8", 3)
    assert found.is_exact
    assert check(app)[-1] < 1e-6


@pytest.mark.slow("measures long sentences")
def test_long_sentences_wait_for_a_click_and_longer_ones_are_refused():
    app = visit("similarity", text="cat " * 40, similar_to=B, vectors="5", path_steps="8")
    assert_well(app)
    assert not [element for element in app.markdown if "The check" in element.value]
    press(app, "Compute the map")
    assert_well(app)
    assert len(check(app)) == 7
    app = visit("similarity", text="cat " * (LONGEST + 1), similar_to=B, vectors="5")
    assert app.error
    assert not app.exception
    app.selectbox(key="view:vectors").set_value(6).run()
    assert_well(app)
    assert len(check(app)) == 3


def interrupted() -> None:
    """A page whose work is interrupted once, as by a click between two parts."""
    import streamlit as st

    from pages.base.work import long_work

    def work() -> long_work.Work[int]:
        for part in range(4):
            st.session_state.setdefault("parts", []).append(part)
            yield part / 4, "Counting …"
            if part == 1 and "clicked" not in st.session_state:
                st.session_state["clicked"] = True
                st.session_state["interrupt"] = True
        return 42

    bar = st.progress

    def progress(*arguments):
        if st.session_state.pop("interrupt", False):
            st.rerun()
        if st.session_state.pop("cancel", False):
            st.session_state["long:count"].cancel()
        return bar(*arguments)

    st.progress = progress
    try:
        ask = "This takes long." if st.session_state.get("ask") else ""
        found = long_work.result("count", st.session_state.get("what", 1), work, label="Count", ask=ask)
    finally:
        st.progress = bar
    st.write(f"found {found}")


def test_work_goes_on_after_an_interruption_and_waits_where_it_asks():
    app = AppTest.from_function(interrupted).run()
    assert not app.exception
    assert app.session_state["parts"] == [0, 1, 2, 3], "no part is computed twice"
    assert app.markdown[-1].value == "found 42"
    app.session_state["what"], app.session_state["ask"] = 2, True
    app.run()
    assert app.markdown[-1].value == "found None"
    press(app, "Count")
    assert app.markdown[-1].value == "found 42"


def test_work_that_another_run_cancelled_does_not_begin_again():
    app = AppTest.from_function(interrupted)
    app.session_state["cancel"] = True
    for _ in range(2):
        app.run()
        assert not app.exception
        assert app.markdown[-1].value == "found None"
    assert "Cancelled" in app.markdown[0].value
    press(app, "Count")
    assert app.markdown[-1].value == "found 42"


def test_two_runs_never_do_a_part_at_once_and_an_outcome_is_kept():
    def work() -> long_work.Work[str]:
        yield 0.5, "half"
        return "whole"

    steps = work()
    job = long_work._Job("any", steps)
    assert job.part(steps) == (0.5, "half")
    assert job.part(steps) is None  # the end, in a run that a click stops before it can return
    assert job.part(steps) is None
    assert (job.value, job.error) == ("whole", None)
    steps = work()
    cancelled = long_work._Job("any", steps)
    cancelled.part(steps)
    cancelled.cancel()
    assert cancelled.part(steps) is None
    assert not cancelled.ended


@pytest.mark.parametrize(("page", "name"), [("similarity", "similar_to"), ("search", "query")])
def test_a_text_that_no_server_splits_is_refused_in_a_sentence(
    page: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = model_store.model(ModelSpec()).tokenizer
    monkeypatch.setattr(tokenizer, "most_characters", 1_000)
    app = visit(page, **{"text": A, name: "so many words " * 100})
    assert "1,400" in sentences(app)
    assert not app.exception
