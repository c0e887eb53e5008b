"""Models leave: what `encoder.save` writes is a folder of transformers and of sentence-transformers."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

import encoder
from encoder import EncoderError

TEXTS = ["The cat sat on the mat.", "A dog runs in the park, and the cat looks at it."]


def theirs(folder: Path, texts: list[str], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    transformers = pytest.importorskip("transformers")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(texts, return_tensors="pt", padding=True)
    model = transformers.AutoModel.from_pretrained(folder, dtype=dtype).eval()
    with torch.no_grad():
        return model(**tokens).last_hidden_state


@pytest.mark.sample(3, "another shipped model")
@pytest.mark.parametrize("name", ["twin-pre", "twin-post", "minilm"])
def test_transformers_opens_what_was_saved(name: str, tmp_path: Path):
    model = encoder.load(name, device="cpu")
    with torch.no_grad():  # edited weights travel, too
        model.encoder.block(1).ffn.w_out.weight.mul_(1.1)
    folder = encoder.save(model, tmp_path / "saved")
    assert json.loads((folder / "config.json").read_text())["model_type"] != "encoderscope"
    found = theirs(folder, TEXTS)
    for row, text in zip(found, TEXTS, strict=True):
        ours = model.trace(text).output
        torch.testing.assert_close(row[: len(ours)], ours, atol=2e-5, rtol=0)
    # In float64 the kernels' rounding is gone: what is left would be another formula, or another weight.
    double = dataclasses.replace(model, encoder=copy.deepcopy(model.encoder).double())
    found = theirs(folder, TEXTS[1:], torch.float64)[0]
    torch.testing.assert_close(found, double.trace(TEXTS[1]).output, atol=1e-12, rtol=0)
    again = encoder.load(folder, device="cpu")
    assert again.heads.keys() == model.heads.keys()
    torch.testing.assert_close(again.embed(TEXTS), model.embed(TEXTS), atol=1e-6, rtol=0)
    encoder.save(model, folder)  # an earlier one is replaced


@pytest.mark.parametrize("name", ["minilm", "twin-post"])
def test_sentence_transformers_opens_what_was_saved(name: str, tmp_path: Path):
    library = pytest.importorskip("sentence_transformers")
    model = encoder.load(name, device="cpu")
    folder = encoder.save(dataclasses.replace(model, normalise=True, pooling="cls+mean"), tmp_path / "saved")
    found = library.SentenceTransformer(str(folder), device="cpu").encode(TEXTS)
    ours = encoder.load(folder, device="cpu").embed(TEXTS)
    torch.testing.assert_close(torch.tensor(found), ours, atol=1e-5, rtol=0)


def test_a_masked_word_head_leaves_with_its_encoder(tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    model = encoder.load("twin-pre", device="cpu")
    folder = encoder.save(model, tmp_path / "saved", layout="huggingface")
    trace = model.trace("The [MASK] sat on the mat.")
    (ours,) = model.predict_masked(trace)
    head = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    with torch.no_grad():
        logits = head(torch.tensor([trace.ids])).logits[0, ours.position]
    assert logits.softmax(-1).topk(5).indices.tolist() == list(ours.ids)


@pytest.mark.parametrize(
    "make",
    [
        lambda: encoder.load("twin-post", device="cpu").with_norm_placement("pre"),
        lambda: encoder.load("digits-pre", device="cpu"),
        lambda: encoder.load("digit-words", device="cpu"),
    ],
)
def test_what_has_no_family_says_so(make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    model = make()
    with caplog.at_level(logging.WARNING, "encoder"):
        folder = encoder.save(model, tmp_path / "saved")
    assert "encoder.load only" in caplog.text
    assert json.loads((folder / "config.json").read_text())["model_type"] == "encoderscope"
    with pytest.raises(EncoderError, match="encoderscope"):
        encoder.save(model, tmp_path / "other", layout="huggingface")
    with pytest.raises(EncoderError, match="layout="):
        encoder.save(model, tmp_path / "other", layout="onnx")  # type: ignore[arg-type]
