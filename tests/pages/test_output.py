"""Heads of a model with a decoder: its own attention, cross-attention to the input, forced and changed outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder import causal
from encoder.edits import AblateHead
from encoder.figures.numbers import in_words, three_digits
from encoder.inputs import spoken_digits
from encoder.measure import sounds
from encoder.model.attend import Memory
from encoder.run import ModelSpec, Run, Text
from pages.base.access import visitors
from pages.core.stores import cache, model_store
from pages.core.words import number
from tests.load import decoders, reference
from tests.pages.apps import assert_well, charts, exported, press, sentences, visit, words
from tests.test_components import unpack

DATE = "the twenty-first of March 1998"


def opened(**values: str) -> AppTest:
    app = visit(**{"model": "dates-pre", "text": DATE, "stack": "cross", **values})
    assert_well(app)
    return app


@pytest.fixture(scope="module")
def model():
    return model_store.model(ModelSpec("dates-pre"))


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


def test_head_types_leads_to_the_heads_that_are_scored():
    app = visit("heads", all_heads="roles", model="dates-pre", text=DATE)
    press(app, "Heads of cross-attention")
    assert_well(app)
    assert "Attention that looks right" in "".join(one.value for one in app.subheader)


def test_another_output_is_forced(model):
    app = opened(output="1998-03-22")
    trace = model.trace(DATE, target="1998-03-22")
    pills = next(one for one in app.get("button_group") if "Output: select" in one.label)
    least = float(trace.decoder.log_probabilities.exp().min())
    assert least < 0.5
    shown = f"{least:.2f}" if least >= 0.005 else "< 0.01"
    assert any(option.endswith(shown) for option in pills.options)
    assert not any(option.endswith(" 0.00") for option in pills.options)
    assert not app.subheader


def changed(**values: str) -> AppTest:
    app = visit("interventions", model="dates-pre", text=DATE, intervention="context", **values)
    assert_well(app)
    return app


def test_heads_off_and_other_vectors_change_what_is_written(model):
    app = changed(vectors_of="5 May 2001")
    assert "**2001-05-05**" in words(app).replace("\\", "")
    every = ",".join(f"{layer}.{head}" for layer in range(2) for head in range(4))
    app = changed(cross_off=every)
    off = tuple(AblateHead(layer, head, cross=True) for layer in range(2) for head in range(4))
    own = model.trace(DATE, target="1998-03-21")
    now = model.decode(own, "1998-03-21", edits=off).decoder
    lost = float((own.decoder.log_probabilities - now.log_probabilities).sum())
    assert f"falls by **{number(lost)}**" in words(app)
    assert f"**{model.generate(DATE, decoder_edits=off).text}**" in words(app).replace("\\", "")


@pytest.mark.parametrize("other", ["", "5 May 2001"])
def test_one_vector_is_replaced(model, other: str):
    own, month = model.trace(DATE, target="1998-03-21"), 6
    vectors = own.output.clone()
    vectors[month] = model.trace(other).output[month] if other else own.output.mean(0)
    ids = (*own.decoder.ids, own.decoder.next_ids[-1])
    now = model.decoder.log_probabilities(ids, Memory(vectors[None], None))[0].detach()
    lost = float((own.decoder.log_probabilities - now).sum())
    app = changed(vectors_of=other, replaced_vector=str(month))
    assert f"falls by **{number(lost)}**" in words(app)
    found = causal.falls_when_replaced(model, own, model.trace(other) if other else None)
    assert float(found[:, month].sum()) == pytest.approx(lost, abs=1e-4)
    assert np.isnan(found).any() == bool(other)  # that text is shorter
    assert int(np.nanargmax(found[6])) == month


def test_a_vector_beyond_the_other_text_is_refused():
    app = changed(vectors_of="5 May 2001", replaced_vector="11")
    assert "position 11" in sentences(app)


def test_every_candidate_of_beam_search_is_in_the_tree(model):
    found = model.generate(DATE, beams=4)
    totals = [one.log_probability for one in found.nodes]
    for at, one in enumerate(found.nodes):
        if one.parent is not None:
            assert found.nodes[one.parent].kept
            assert found.nodes[one.parent].step == one.step - 1
            assert one.log_probability <= totals[one.parent]
        assert len(found.ids_to(at)) == one.step + 1
    final = max(one.step for one in found.nodes)
    assert not any(one.kept for one in found.nodes if one.step == final), "the search stopped there"
    last = found.best_path[-1]
    assert found.ids_to(last) == found.ids
    assert totals[last] == pytest.approx(found.log_probability, abs=1e-4)
    app = opened()
    app.session_state["lazy:beams"] = True
    assert_well(app.run())
    drawn = (one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_beam_tree")
    (tree,) = (unpack(one.bytes)[0] for one in drawn)
    assert [node["logP"] for node in tree["nodes"]] == pytest.approx(totals)
    assert tree["nodes"][last]["text"] == "1998-03-21"
    assert [at for at, node in enumerate(tree["nodes"]) if node["best"]] == list(found.best_path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The folder of a tiny random checkpoint."""

    def write(name: str, **fields: int) -> str:
        place = tmp_path_factory.mktemp(name)
        case = decoders.CASES[name]
        decoders.made(replace(case, fields=case.fields | fields)).save_pretrained(place)
        reference.write_tokenizer(place, "bert")
        return str(place)

    return write


def test_a_decoder_deeper_than_its_encoder(folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    deep = {"model": "other", "source": folder("t5", num_decoder_layers=5), "text": "w7 w8 w9"}
    for stack in ("cross", "decoder"):
        app = visit("heads", **deep, stack=stack, layer="4", head="5", output="w5 w6")
        assert_well(app)
        assert app.number_input(key="view:layer").max == 4
        assert "L4 H5" in words(app)
    app.session_state["view:stack"] = "encoder"
    app.run()
    assert_well(app)
    assert app.number_input(key="view:layer").value == app.number_input(key="view:layer").max == 2  # its last


def test_the_grid_marks_heads_that_share_keys_and_values(folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    source = folder("qwen2", num_attention_heads=6, num_key_value_heads=2, hidden_size=48)
    app = visit("heads", model="other", source=source, text="w7 w8 w9")
    assert_well(app)
    assert "6 share 2" in words(app)
    drawn = (one.proto for one in app.get("bidi_component") if one.proto.component_name == "encoderscope_head_grid")
    assert [unpack(one.bytes)[0]["sharing"] for one in drawn] == [3]


@pytest.mark.parametrize("over", ["mean", "head"])
def test_the_words_of_a_sound_have_the_times_of_their_weights(over: str, folder, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    source = folder("whisper")
    app = visit(
        "heads",
        model="other",
        source=source,
        sound="two",
        stack="cross",
        layer="1",
        head="2",
        output="w7 w8 w9",
        output_token="1",
        sound_weights=over,
    )
    assert_well(app)
    model = encoder.load(source, device="cpu")
    trace = model.trace(spoken_digits.examples()["two"].sound, target="w7 w8 w9")
    maps = trace.decoder.cross_attentions[:, :, trace.decoder.output_rows]
    row = maps[:, :, 1].mean((0, 1)) if over == "mean" else maps[1, 2, 1]
    piece = sounds.pieces(sounds.over_time(row, trace.layout))[0]
    assert piece.start < 0.02 * (int(row.argmax()) + 0.5) < piece.end
    assert f"most to {piece.start:.2f}-{piece.end:.2f} s **{in_words(piece.share)}**" in words(app)
    pills = next(one for one in app.get("button_group") if "Output: select" in one.label)
    assert [option.split(" ")[0] for option in pills.options[:3]] == ["w7", "w8", "w9"]
    bars = next(figure for figure in charts(app) if len(figure) == 3)[2]
    assert len(bars["customdata"]) == trace.n_tokens


def test_the_decoders_own_maps_are_those_of_its_trace(model):
    app = opened(stack="decoder", layer="0", head="1", i="3", j="1")
    decoder = model.trace(DATE, target="1998-03-21").decoder
    kept = cache.trace(Run(ModelSpec("dates-pre", tower="decoder"), Text(DATE), "1998-03-21"))
    assert kept.tokens == decoder.tokens
    assert float((kept.attention(0, 1) - decoder.attention(0, 1)).abs().max()) < 1e-6
    assert 'target="1998-03-21").decoder' in exported(app)


def test_a_token_beyond_a_shorter_output_is_the_first(model):
    app = opened(text="two hundred and five", output_token="9")
    assert "To write :blue[**2**]" in words(app)
