"""A Trace is a value: it is saved, copied, counted, shown, and its layers count from both ends."""

from __future__ import annotations

import copy
import dataclasses
import html
import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, LoadError, edits
from encoder.export import display
from encoder.inputs import digits
from encoder.measure import heads, norm_weighted, rollout
from encoder.model.shown import Shown
from encoder.probe.recorded import recorded
from tests.conftest import ROOT

TEXT = "The cat sat on the mat."


@pytest.fixture(scope="module")
def trace() -> encoder.Trace:
    return encoder.load("twin-pre", device="cpu").trace(TEXT, edits=[edits.AblateHead(1, 2)])


def same(one: encoder.Trace, other: encoder.Trace) -> None:
    assert (one.tokens, one.source, one.layout, one.edits) == (other.tokens, other.source, other.layout, other.edits)
    torch.testing.assert_close(one.attentions, other.attentions, rtol=0, atol=0)
    torch.testing.assert_close(one.output, other.output, rtol=0, atol=0)
    torch.testing.assert_close(norm_weighted(one, 0, 1), norm_weighted(other, 0, 1), rtol=0, atol=0)


@pytest.mark.parametrize("way", ["file", "file and model", "copy", "pickle"])
def test_a_trace_survives_each_way_of_keeping_it(trace: encoder.Trace, tmp_path: Path, way: str):
    if way.startswith("file"):
        model = trace.model if "model" in way else None
        path = trace.save(tmp_path / "a.safetensors", weights=model is None)
        assert (path.stat().st_size < 1_000_000) == (model is not None)
        same(trace, encoder.open_trace(str(path), model))
    else:
        same(trace, copy.deepcopy(trace) if way == "copy" else pickle.loads(pickle.dumps(trace)))
        measures = heads(trace)
        assert np.array_equal(copy.deepcopy(measures)["entropy"], measures["entropy"])


@pytest.mark.parametrize("name", ["digits-pre", "spoken-digits"])
def test_images_and_sounds_are_saved(name: str, tmp_path: Path):
    model = encoder.load(name, device="cpu")
    if name == "digits-pre":
        found = model.trace(np.zeros((28, 28), np.uint8))
    else:
        found = model.trace(encoder.Sound(np.ones(8_000, np.float32) / 2, 16_000))
    same(found, encoder.open_trace(found.save(tmp_path / "a.safetensors")))


def test_an_image_whose_patches_are_not_its_tokens_is_refused(tmp_path: Path):
    found = encoder.load("digits-pre", device="cpu").trace(np.zeros((28, 28), np.uint8))
    fewer = dataclasses.replace(found.layout, rows=found.layout.rows - 1)
    with pytest.raises(LoadError, match="layout"):
        encoder.open_trace(dataclasses.replace(found, layout=fewer).save(tmp_path / "a.safetensors"))


def test_maps_are_saved_as_maps(tmp_path: Path):
    maps = encoder.attentions(torch.full((1, 2, 3, 3), 1 / 3), ["a", "b", "c"])
    path = maps.save(tmp_path / "maps.safetensors")
    torch.testing.assert_close(encoder.open_trace(path).attentions, maps.maps)
    torch.testing.assert_close(encoder.load(path).trace().attentions, maps.maps)


def test_what_is_no_trace_is_refused(trace: encoder.Trace, tmp_path: Path):
    (tmp_path / "no.safetensors").write_bytes(b"no")
    for wrong in ("no.safetensors", "missing.safetensors"):
        with pytest.raises(LoadError):
            encoder.open_trace(tmp_path / wrong)
    light = trace.save(tmp_path / "light.safetensors", weights=False)
    with pytest.raises(LoadError, match="no weights"):
        encoder.open_trace(light)
    with pytest.raises(LoadError, match="another architecture"):
        encoder.open_trace(light, encoder.load("twin-post", device="cpu"))
    called = trace.model.trace(TEXT, edits=[edits.Call("z", lambda z: z)])
    with pytest.raises(EncoderError, match="function"):
        called.save(tmp_path / "called.safetensors")
    for ids in ((), (10**20,) * trace.n_tokens):
        with pytest.raises(LoadError, match="ids"):
            encoder.open_trace(dataclasses.replace(trace, ids=ids).save(tmp_path / "ids.safetensors"))


def test_layers_and_heads_count_from_both_ends(trace: encoder.Trace):
    last, most = trace.config.n_layers - 1, trace.config.n_heads - 1
    for method in ("attention", "scores", "z", "pooled_attention"):
        assert torch.equal(getattr(trace, method)(-1, -1), getattr(trace, method)(last, most)), method
    assert torch.equal(trace.layer_attention(-1), trace.layer_attention(last))
    assert torch.equal(trace.before_layer(-1), trace.output)
    assert torch.equal(trace.before_layer(-2), trace.streams[last])
    assert torch.equal(rollout(trace, -1), rollout(trace, last))
    assert torch.equal(norm_weighted(trace, -1, -1), norm_weighted(trace, last, most))
    with pytest.raises(EncoderError, match="No layer"):
        trace.attention(-trace.config.n_layers - 1, 0)


def test_all_maps_and_their_table(trace: encoder.Trace, tmp_path: Path):
    config, n = trace.config, len(trace)
    assert trace.attentions.shape == (config.n_layers, config.n_heads, n, n)
    assert torch.equal(trace.attentions[2, 3], trace.attention(2, 3))
    table = trace.to_pandas(1)
    assert len(table) == config.n_heads * n * n
    row = table[(table["head"] == 3) & (table["query"] == 2) & (table["key"] == 5)].iloc[0]
    assert row["weight"] == float(trace.attention(1, 3)[2, 5])
    assert (row["query_token"], row["key_token"]) == (trace.tokens[2], trace.tokens[5])
    assert (trace.to_pandas(least=0.5)["weight"] >= 0.5).all()
    trace.to_pandas().to_parquet(tmp_path / "maps.parquet")
    opened = encoder.load(tmp_path / "maps.parquet").trace()
    torch.testing.assert_close(opened.attentions, trace.attentions, rtol=0, atol=0)


def test_a_notebook_shows_pictures(trace: encoder.Trace):
    model = trace.model
    maps = encoder.attentions(trace.attentions, trace.tokens)
    views = [encoder.export.map(trace, 0, 2), encoder.export.lines(trace, [(0, 2)]), encoder.export.text(trace, 0, 2)]
    alike = encoder.similarity.attribute(model, "a cat", "a dog", layer=model.config.n_layers)
    why = encoder.explain_score(encoder.load("minilm", device="cpu"), "a cat", "a dog")
    for shown in (trace, maps, heads(trace), alike, why, *views):
        assert "<iframe" in shown._repr_html_(), type(shown)
        assert len(repr(shown)) < 300, type(shown)
    assert "twin-pre" in model._repr_html_()
    assert "1 edit:" in repr(trace)


def test_a_notebook_shows_results_as_tables():
    digit = digits.decode(digits.examples()["3"])
    classes = encoder.load("digits-pre", device="cpu")
    text = encoder.load("minilm", device="cpu").with_norm_placement("pre")
    pair = encoder.load("digit-words", device="cpu")
    prediction = encoder.classify.predict(classes, classes.trace(digit))
    curve = recorded()["token"]
    texts = [f"<b>{number}" for number in range(200)]
    collection = encoder.search.embed(encoder.load("twin-pre", device="cpu"), texts)
    written = encoder.load("dates-pre", device="cpu").generate("March 21, 1998")
    few = encoder.search.embed(encoder.load("minilm", device="cpu"), ["A cat sat. A dog ran. A bird ate.", "It rains."])
    ranking = encoder.texts.rank(encoder.load("minilm", device="cpu"), "a cat", few)
    where = encoder.texts.position_sensitivity(encoder.load("minilm", device="cpu"), few.texts[0])
    tables = ((prediction, 10), (curve, 7), (collection, 200), (written, len(written.ids)), (ranking, 2), (where, 5))
    for shown, rows in tables:
        assert (len(shown.table()), shown._repr_html_().count("<table")) == (rows, 1), type(shown)
        assert len(repr(shown)) < 300, type(shown)
    assert cells(prediction, 1)[:3] == [
        "3",
        "3",
        f"{max(prediction.logits):.6f}",
    ]  # the most probable class is the first
    assert [float(cells(curve, row)[-1]) for row in range(1, 8)] == pytest.approx(curve.control, abs=1e-5)
    assert collection._repr_html_().count("&lt;b&gt;") == display.ROWS
    assert text.moved_norms in html.unescape(text._repr_html_())
    sizes = [str(tower.config.n_layers) for tower in pair.towers.values()]
    assert [cells(pair, 0), cells(pair, 1)] == [["", *pair.towers], ["n_layers", *sizes]]


def test_every_value_of_a_notebook_is_registered():
    """A subclass of `Shown` without a function in export/display.py would raise at the end of a cell."""
    kinds = [Shown]
    for kind in kinds:
        kinds += kind.__subclasses__()
    ours = [kind for kind in kinds[1:] if kind.__module__.startswith("encoder.") and not inspect.isabstract(kind)]
    missing = [kind for kind in ours if display.html.dispatch(kind) is display.html.dispatch(object)]
    assert {kind.__name__ for kind in missing} <= {"RecordedPass"}  # made as a Trace only
    assert len(ours) > 12

    class Mine(Shown):
        def __repr__(self) -> str:
            return "<Mine>"

    with pytest.raises(EncoderError, match=r"html\.register"):
        Mine()._repr_html_()
    display.html.register(Mine, lambda mine: display.headed(mine, "3"))
    assert Mine()._repr_html_() == "<code>&lt;Mine&gt;</code>3"


@pytest.mark.slow("opens a model in another process")
def test_a_notebook_that_imported_only_the_package_shows_facts(tmp_path: Path):
    program = """
import sys, encoder
model = encoder.load("twin-pre", device="cpu")
assert "encoder.export" not in sys.modules
assert "<table" in model._repr_html_()
assert model.trace("a cat").save_html(sys.argv[1] + "/page.html").is_file()
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, check=True)


def cells(shown: Shown, row: int) -> list[str]:
    """The texts of one row of the table that a notebook shows."""
    found = re.findall(r"<tr.*?</tr>", shown._repr_html_(), flags=re.DOTALL)[row]
    return re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", found)


def test_a_model_moves_as_a_copy():
    model = encoder.load("minilm", device="cpu")
    moved = model.to("cpu", "bfloat16")
    assert (moved.encoder.dtype, model.encoder.dtype) == (torch.bfloat16, torch.float32)
    assert moved.tokenizer is model.tokenizer
    assert encoder.load("digit-words", device="cpu").to("cpu").text.embed("a four").shape[0] == 1
    with pytest.raises(LoadError):
        model.to("tpu")
