"""Heads of a model with a decoder: its own attention, cross-attention to the input, forced and changed outputs."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from encoder.figures.numbers import three_digits
from pages.core.stores import cache, model_store
from tests.pages.apps import assert_well, visit, words

DATE = "the twenty-first of March 1998"


def opened(**values: str) -> AppTest:
    app = visit(**{"model": "dates-pre", "text": DATE, "stack": "cross", **values})
    assert_well(app)
    return app


@pytest.fixture(scope="module")
def model():
    return model_store.model(cache.ModelKey(source="dates-pre"))


def test_the_output_appears_and_each_token_has_what_it_attends_to(model):
    app = opened(output_token="8", layer="1", head="2")
    trace = model.trace(DATE, target="1998-03-21")
    row = trace.cross_attention(1, 2)[8]
    said = words(app)
    assert f"{trace.labels[int(row.argmax())]} {three_digits(float(row.max()))}" in said
    pills = next(one for one in app.get("button_group") if "Output: select" in one.label)
    assert len(pills.options) == len(trace.decoder.next_ids) == 11


def test_rules_and_the_deletion_test_are_compared_with_the_heads(model):
    assert "Attention that looks right" in "".join(one.value for one in opened().subheader)
    unknown = opened(text="3/4/98")  # no certain answer
    assert not unknown.subheader


def test_another_output_is_forced(model):
    app = opened(output="1998-03-22")
    trace = model.trace(DATE, target="1998-03-22")
    pills = next(one for one in app.get("button_group") if "Output: select" in one.label)
    least = float(trace.decoder.log_probabilities.exp().min())
    assert least < 0.5
    assert any(f"{least:.2f}" in option for option in pills.options)
    assert not app.subheader


def test_heads_off_and_other_vectors_change_what_is_written(model):
    app = opened(vectors_of="5 May 2001")
    assert "**2001-05-05**" in words(app).replace("\\", "")
    every = ",".join(f"{layer}.{head}" for layer in range(2) for head in range(4))
    app = opened(cross_off=every)
    assert "The model now writes" in words(app)
    assert "**1998-03-21**" not in words(app).replace("\\", "")


def test_the_decoders_own_maps_are_those_of_its_trace(model):
    app = opened(stack="decoder", layer="0", head="1", i="3", j="1")
    decoder = model.trace(DATE, target="1998-03-21").decoder
    key = cache.ModelKey(source="dates-pre", tower="decoder")
    kept = cache.trace(key, DATE, "1998-03-21")
    assert kept.tokens == decoder.tokens
    assert float((kept.attention(0, 1) - decoder.attention(0, 1)).abs().max()) < 1e-6
    assert 'target="1998-03-21").decoder' in app.get("code")[-1].value


def test_a_token_beyond_a_shorter_output_is_the_first(model):
    app = opened(text="two hundred and five", output_token="9")
    assert "To write :blue[**2**]" in words(app)
