"""A file of attention maps in the app: two pages show it, all others say what they need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import encoder
from encoder import EncoderError
from encoder.figures.numbers import three_digits
from pages.base.access import visitors
from tests.conftest import ROOT
from tests.pages.apps import assert_well, sentences, visit, words, written
from tests.pages.test_images import AT_OUTPUT

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

PAGES = sorted(path.parent.name for path in ROOT.glob("pages/*/page.py"))
SHOWN = ("heads",)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    trace = encoder.load("twin-pre", device="cpu").trace("The cat sat on the mat because it was tired.")
    maps = torch.stack([trace.layer_attention(layer) for layer in range(trace.config.n_layers)]).contiguous()
    path: Path = tmp_path_factory.mktemp("maps") / "cats.safetensors"
    save_file({"attentions": maps}, path, metadata={"tokens": json.dumps(trace.tokens)})
    return str(path)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_shows_the_maps_or_a_model_that_it_can_show(page: str, file: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    app = visit(page, model="other", source=file, **AT_OUTPUT)
    assert_well(app)
    stands_in = [one.value for one in app.caption if "swap_horiz" in one.value]
    if page in SHOWN:
        assert "cats" in words(app)
        assert not stands_in
    elif stands_in:  # other pages need no model, or have models of their own
        assert "attention maps" in stands_in[0]
        assert app.selectbox(key="view:model").value == "minilm"


@pytest.mark.parametrize("view", ["map", "lines", "text"])
def test_heads_draws_every_view_of_a_head(view: str, file: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    app = visit("heads", model="other", source=file, view=view, layer="1", head="2", i="3", special="renormalise")
    assert_well(app)


@pytest.fixture(scope="module")
def cross_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    decoder = encoder.load("dates-pre", device="cpu").trace("5 May 2001", target="2001-05-05").decoder
    path = tmp_path_factory.mktemp("maps") / "dates.safetensors"
    names = {"tokens": json.dumps(decoder.labels), "keys": json.dumps(decoder.memory_labels)}
    save_file({"attentions": decoder.cross_attentions.contiguous()}, path, metadata=names)
    return str(path)


def test_a_file_of_cross_attention_opens_on_heads(cross_file: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    app = visit("heads", model="other", source=cross_file, layer="1", head="2", output_token="4")
    assert_well(app)
    found = encoder.load(cross_file).trace()
    row = found.cross_attention(1, 2)[4]
    assert f"{found.labels[int(row.argmax())]} {three_digits(float(row.max()))}" in written(app)
    with pytest.raises(EncoderError, match="maps only"):
        found.attention(0, 0)
    app = visit("norms", model="other", source=cross_file)
    assert_well(app)
    assert any("cross-attention maps" in one.value for one in app.caption)
    assert_well(visit("heads", all_heads="roles", model="other", source=cross_file))


def test_edits_in_a_link_are_refused_by_a_sentence(file: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "for_one_person", lambda: True)
    app = visit("heads", model="other", source=file, edits=encoder.edits.format([encoder.edits.AblateHead(0, 0)]))
    assert not app.exception
    assert "attention maps only" in sentences(app)
