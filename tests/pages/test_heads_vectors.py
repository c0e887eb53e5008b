"""Queries, keys, values under AppTest: the selected pair, and where its score is computed."""

from __future__ import annotations

import encoder
from pages.core.words.formulas import number
from tests.pages.apps import visit, written


def test_the_answer_has_the_numbers_of_the_selected_pair(minilm: encoder.TextEncoder) -> None:
    text = "The cat sat on the mat"
    trace = minilm.trace(text)
    score = float(trace.q[2, 3, 2].double() @ trace.k[2, 3, 6].double()) / 32**0.5
    row = trace.attention(2, 3)[2]
    shown = written(visit("heads", view="vectors", text=text, layer="2", head="3", i="2", j="6"))
    assert "**cat**" in shown
    assert "**mat**" in shown
    assert f"score {number(score)}" in shown
    assert f"({int((row > row[6]).sum()) + 1}th of {trace.n_tokens})" in shown


def test_without_a_selection_the_strongest_pair_of_the_first_word_is_shown(minilm: encoder.TextEncoder) -> None:
    shown = written(visit("heads", view="vectors", text="The cat sat", layer="0", head="2"))
    trace = minilm.trace("The cat sat")
    row = trace.attention(0, 2)[1]
    assert f"attends to **{trace.labels[int(row.argmax())]}**" in shown
    assert "(1st of" in shown


def test_the_button_opens_the_score_of_the_pair_term_by_term() -> None:
    app = visit("heads", view="vectors", text="The cat sat", layer="0", head="2", i="1", j="3")
    app.button(key="open-scores").click().run()
    assert not app.exception
    assert app.query_params["step"] in ("scores", ["scores"])
    assert [app.session_state["_view"].values[name] for name in ("layer", "head", "i", "j")] == [0, 2, 1, 3]
