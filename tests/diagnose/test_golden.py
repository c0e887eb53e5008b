"""Golden files and fingerprints: written, read, compared."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import encoder
from encoder import diagnose
from encoder.errors import EncoderError

TEXTS = ("A cat sat.", "two\twords", "Hokkaidō")


@pytest.fixture(scope="module")
def golden() -> diagnose.Golden:
    return diagnose.make_golden(
        "twin-pre", TEXTS, layers=(0, 6) if encoder.load("twin-pre").config.n_layers >= 6 else (0,)
    )


def test_a_golden_file_holds_all_of_it(golden: diagnose.Golden, tmp_path: Path):
    diagnose.write_golden(golden, tmp_path / "golden.safetensors")
    found = diagnose.read_golden(tmp_path / "golden.safetensors")
    assert (found.texts, found.ids, found.prompt, found.run) == (golden.texts, golden.ids, golden.prompt, golden.run)
    assert found.fingerprint.differences(golden.fingerprint) == {}
    np.testing.assert_array_equal(found.vectors, golden.vectors)
    assert found.tolerance("bfloat16") > found.tolerance("float32")
    for layer, values in golden.layers.items():
        for one, other in zip(values, found.layers[layer], strict=True):
            np.testing.assert_array_equal(one, other)


def test_its_vectors_are_the_models(golden: diagnose.Golden):
    model = encoder.load("twin-pre")
    vectors = model.embed(TEXTS)
    for given in (vectors.numpy(), vectors, vectors.clone().requires_grad_(), vectors.tolist()):
        assert golden.differences(given).max() < golden.tolerance("float32")
    rounded = golden.differences(vectors.bfloat16()).max()
    assert golden.tolerance("float32") < rounded < golden.tolerance("bfloat16"), "NumPy has no such numbers"
    trace = model.trace(TEXTS[0])
    np.testing.assert_allclose(golden.layers[0][0], trace.values["embedding"].numpy(), atol=1e-6)
    with pytest.raises(EncoderError, match="float16"):
        golden.tolerance("float8")


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"{}"])
def test_what_is_no_golden_file_is_refused(content: bytes, tmp_path: Path):
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(EncoderError, match="golden write"):
        diagnose.read_golden(tmp_path / "a.safetensors")


def test_another_format_is_refused(tmp_path: Path):
    save_file(
        {"vectors": np.zeros((1, 2), np.float32)}, tmp_path / "a.safetensors", {"format": "encoderscope golden 99"}
    )
    with pytest.raises(EncoderError, match="golden 99"):
        diagnose.read_golden(tmp_path / "a.safetensors")


def test_a_fingerprint_changes_with_each_of_its_fields():
    model = encoder.load("twin-pre")
    own = diagnose.fingerprint(model)
    assert own.differences(diagnose.fingerprint(encoder.load("twin-pre"))) == {}
    assert diagnose.Fingerprint.parse(own.as_json()) == own
    changes = {
        "pooling": dataclasses.replace(model, pooling="cls"),
        "normalise": dataclasses.replace(model, normalise=not model.normalise),
        "dimensions": dataclasses.replace(model, truncate_dim=8),
        "tokenizer": dataclasses.replace(model, tokenizer=model.tokenizer.lower_cased()),
        "longest text": dataclasses.replace(model, max_embed_tokens=17),
    }
    for name, changed in changes.items():
        assert set(own.differences(diagnose.fingerprint(changed))) == {name}
    assert set(own.differences(diagnose.fingerprint(model, "query: "))) == {"prompt"}
    assert "weights" in own.differences(diagnose.fingerprint(encoder.load("twin-post")))
    with pytest.raises(EncoderError, match="not a fingerprint"):
        diagnose.Fingerprint.parse("[1]")
