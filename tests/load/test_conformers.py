"""Conformers: the first feed-forward layer, the convolution and the norm at the end, wherever a layer is opened."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import AudioEncoder, EncoderError, LoadError, causal, explain
from encoder.edits import AblateHead, Zero
from encoder.errors import ConfigError
from encoder.gradients import direct_effect
from encoder.measure import residual_stream
from encoder.model.conformer import Conformer
from encoder.model.distances import DistanceKeys
from encoder.views.model_parts import with_parts
from encoder.views.model_picture import model_picture
from tests.engine.conftest import tiny
from tests.load import every_family, sounds

PARTS = ("first_ffn", "attention", "convolution", "ffn")
TEXT = "the cat sat on a mat and the dog ran to the big red bus"
PLACE = explain.Place(1, 2, 3, 1)


@pytest.fixture(scope="module")
def model() -> AudioEncoder:
    return every_family.opened(every_family.ALL["wav2vec2-conformer"])[1]


@pytest.fixture(scope="module")
def text_model() -> encoder.TextEncoder:
    """The same layers over a text, whose numbers are checked in float64."""
    return tiny(norm_placement="pre", position="none", conformer=Conformer(5), distance_keys=DistanceKeys())


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_what_the_sublayers_add_is_the_stream(model: AudioEncoder, placement: str) -> None:
    trace = model.with_norm_placement(placement).trace(sounds.tone(0.2), request=[f"{part}_out" for part in PARTS])
    assert trace.config.sublayers == PARTS
    for layer in range(3):
        x = trace.values[trace.entering(layer)]
        for part, before, update in residual_stream.sublayer_updates(trace, layer):
            torch.testing.assert_close(update, trace.values[f"layers.{layer}.{part}_out"], rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(before, x, rtol=1e-5, atol=1e-5)
            norm = trace.norm_of_sum(layer, part)
            x = before + update
            while norm is not None:  # moved norms: the last sublayer has its own and that of the layer's end
                x, norm = trace.norms[norm].output, {f"layers.{layer}.ffn_norm": f"layers.{layer}.end_norm"}.get(norm)
        torch.testing.assert_close(x, trace.streams[layer + 1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_direct_effects_add_up(model: AudioEncoder, placement: str) -> None:
    trace = model.with_norm_placement(placement).trace(sounds.tone(0.1))
    effect = direct_effect(trace, torch.randn(48, generator=torch.Generator().manual_seed(0)))
    assert effect.sum == pytest.approx(effect.total, rel=1e-4, abs=1e-3)


def test_a_part_that_is_off_adds_nothing(model: AudioEncoder) -> None:
    sound = sounds.tone(0.1)
    plain = model.trace(sound)
    for part in PARTS:
        edited = model.trace(sound, edits=[Zero(f"{part}_out", layer=1)], request=[f"{part}_out"])
        assert edited.values[f"layers.1.{part}_out"].abs().max() == 0
        assert float((edited.output - plain.output).abs().max()) > 1e-3
    off = model.trace(sound, edits=[AblateHead(1, 2)], request=["z"])
    assert float(off.z(1, 2).abs().max()) == 0.0
    assert causal.leave_out_each_sublayer(model, plain).shape == (4, 3)


def test_channels_are_edited_and_recorded(model: AudioEncoder) -> None:
    edit = Zero("convolution.hidden", layer=0, components=(7,))
    trace = model.trace(sounds.tone(0.1), edits=[edit], request=["convolution.hidden"])
    assert trace.values["layers.0.convolution.hidden"][:, 7].abs().max() == 0
    with pytest.raises(EncoderError, match="convolution"):
        encoder.load("spoken-digits", device="cpu").trace(sounds.tone(0.1), edits=[edit])


def test_the_convolution_step_is_what_the_model_computes(model: AudioEncoder) -> None:
    trace = model.trace(sounds.tone(0.1), request=["convolution.hidden", "convolution_out"])
    for token in (0, 3, trace.n_tokens - 1):  # at the ends the kernel sees fewer tokens
        step = explain.convolution(trace, explain.Place(1, query=token, component=4, neuron=9))
        assert step.near == tuple(range(max(0, token - 3), min(trace.n_tokens, token + 4)))
        np.testing.assert_allclose(
            step.hidden, trace.values["layers.1.convolution.hidden"][token], rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(step.output, trace.values["layers.1.convolution_out"][token], rtol=1e-4, atol=1e-5)
        assert float(step.terms.sum()) == pytest.approx(step.mixed, abs=1e-5)
        assert float(step.output_terms.sum()) + step.output_bias == pytest.approx(float(step.output[4]), abs=1e-5)
    with pytest.raises(EncoderError, match="convolution"):
        explain.convolution(encoder.load("twin-pre", device="cpu").trace("a"), explain.Place())


def test_every_number_of_the_picture_is_checked(text_model: encoder.TextEncoder) -> None:
    trace = text_model.trace(TEXT)
    picture = model_picture(trace, 1, 2, 3, 1)
    assert picture.arrays["updates"].shape == (3, 4, trace.n_tokens)
    reference = explain.Recomputation(trace)
    found = with_parts(picture, trace, PLACE, part="convolution", model=text_model, reference=reference)
    parts = found.header["parts"]
    assert isinstance(parts, dict)
    for key in ("first_ffn", "convolution", "norm-convolution", "add-convolution", "norm-end", "scores", "q"):
        assert parts[key]["checks"], key
        assert all(agrees for *_, agrees, _ in parts[key]["checks"]), key


@pytest.mark.parametrize("kind", ["CTC", "RNNT", "TDT"])
def test_parakeet_opens_without_what_writes_the_text(kind: str, tmp_path: Path) -> None:
    import transformers

    inner = transformers.ParakeetEncoderConfig(**every_family.PARAKEET)
    more = {} if kind == "CTC" else {"decoder_hidden_size": 16, "num_decoder_layers": 1}
    config = getattr(transformers, f"Parakeet{kind}Config")(encoder_config=inner, vocab_size=30, **more)
    theirs = getattr(transformers, f"ParakeetFor{kind}")(config).eval()
    theirs.save_pretrained(tmp_path)
    features = {"feature_extractor": {"feature_extractor_type": "ParakeetFeatureExtractor", "n_fft": 400}}
    (tmp_path / "processor_config.json").write_text(json.dumps(features))
    ours = encoder.load(tmp_path, device="cpu")
    assert ours.preparation.n_fft == 400
    assert any({"CTC": "letters"}.get(kind, "decoder") in note for note in ours.notes)
    sound = sounds.tone(0.5)
    with torch.no_grad():
        expected = theirs.encoder(ours.prepare(sound)[None]).last_hidden_state[0]
    torch.testing.assert_close(ours.trace(sound).output, expected, atol=1e-5, rtol=0)
    assert len(ours.layout_of(sound).tokens) == len(expected)
    again = encoder.load(encoder.save(ours, tmp_path / "saved", layout="huggingface"), device="cpu")
    assert again.preparation == ours.preparation
    torch.testing.assert_close(again.trace(sound).output, expected, atol=1e-5, rtol=0)


def test_what_does_not_open(tmp_path: Path) -> None:
    for fields in ({"layer_norm_eps": 1e-6}, {"add_adapter": True}):
        case = every_family.ALL["wav2vec2-conformer"]
        wrong = every_family.Case(case.title, case.kind, {**case.fields, **fields})
        with pytest.raises(LoadError, match=next(iter(fields))):
            every_family.opened(wrong)
    with pytest.raises(ConfigError, match="kernel"):
        Conformer(4)
    with pytest.raises(ConfigError, match="sublayers"):
        tiny(conformer=Conformer(3), causal=True)
