"""Queries, keys, values under AppTest: the numbers of the selected pair."""

from __future__ import annotations

import pytest
import torch

import encoder
from pages.core.words.formulas import number
from tests.pages.apps import visit, written


def test_the_numbers_of_the_selected_pair(minilm: encoder.TextEncoder) -> None:
    text = "The cat sat on the mat"
    trace = minilm.trace(text)
    dot = float(trace.q[2, 3, 2].double() @ trace.k[2, 3, 6].double())
    row = trace.attention(2, 3)[2]
    shown = written(visit("heads", view="vectors", text=text, layer="2", head="3", i="2", j="6"))
    assert ":blue[cat]" in shown
    assert ":red[mat]" in shown
    assert number(dot) in shown
    assert "1/√d_k; d_k = 32" in shown
    assert f"**{number(dot / 32**0.5)}**" in shown
    assert f"**{number(float(row[6]))}**" in shown
    assert f"({int((row > row[6]).sum()) + 1}th of {trace.n_tokens})" in shown
    assert number(1 / trace.n_tokens) in shown
    assert "default" not in shown


def test_the_products_add_up_in_the_table(minilm: encoder.TextEncoder) -> None:
    app = visit("heads", view="vectors", text="The cat sat", layer="5", head="11", i="1", j="3")
    table = app.dataframe[0].value
    trace = minilm.trace("The cat sat")
    assert table["q"].to_numpy() == pytest.approx(trace.q[5, 11, 1].numpy(), abs=1e-5)
    assert table["k"].to_numpy() == pytest.approx(trace.k[5, 11, 3].numpy(), abs=1e-5)
    assert table["running_sum"].iloc[-1] == pytest.approx(float(trace.q[5, 11, 1] @ trace.k[5, 11, 3]), rel=1e-4)


def test_the_products_in_numbers(minilm: encoder.TextEncoder) -> None:
    trace = minilm.trace("The cat sat")
    q, k = (vectors[5, 11, place].double() for vectors, place in ((trace.q, 1), (trace.k, 3)))
    products = q * k
    largest = int(products.abs().argmax())
    shown = written(visit("heads", view="vectors", text="The cat sat", layer="5", head="11", i="1", j="3"))
    for value in (products.clamp(min=0).sum(), products.clamp(max=0).sum(), q.norm(), k.norm()):
        assert number(float(value)) in shown
    assert f"{number(float(products[largest]))}, component {largest}" in shown
    assert f"{number(float(torch.cosine_similarity(q, k, dim=0)))} (1:" in shown


def test_without_a_selection_the_strongest_pair_of_the_first_word_is_shown(minilm: encoder.TextEncoder) -> None:
    shown = written(visit("heads", view="vectors", text="The cat sat", layer="0", head="2"))
    strongest = int(minilm.trace("The cat sat").attention(0, 2)[1].argmax())
    assert f"Key: token {strongest}." in shown
    assert "default" in shown
    assert "(1st of" in shown


def test_formulas_are_typeset_in_the_colours_of_queries_and_keys() -> None:
    app = visit("heads", view="vectors", text="The cat sat", i="1", j="2")
    formulas = "".join(element.value for element in app.get("latex"))
    assert r"\sqrt{K}" in formulas
    assert "#1a57ae" in formulas
    assert "#b32836" in formulas
