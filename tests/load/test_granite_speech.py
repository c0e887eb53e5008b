"""Granite Speech: attention in blocks, a wide convolution, letters of the middle layer; its sound, its folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import LoadError, causal, explain
from encoder.causal.variants import run_variants
from encoder.edits import AblateHead
from encoder.explain.cost import cost
from encoder.gradients import direct_effect
from encoder.inputs.log_mel import PairedMel
from encoder.measure import residual_stream
from encoder.model.conformer import Conformer
from encoder.model.distances import DistanceKeys
from tests.engine.conftest import tiny
from tests.load import every_family, sounds

BLOCK = 5
TEXT = "the cat sat on a mat and the dog ran to the big red bus"


@pytest.fixture(scope="module", params=["pre", "post"])
def model(request: pytest.FixtureRequest) -> encoder.TextEncoder:
    """The same layers over a text, whose numbers are checked in float64."""
    shape = Conformer(5, bias=True, kernel_bias=False, expansion=2, letters=7)
    found = tiny(
        norm_placement="pre", position="none", conformer=shape, distance_keys=DistanceKeys(9, 9), attention_block=BLOCK
    )
    return found.with_norm_placement(request.param)


def test_every_step_follows_from_the_weights(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT)
    assert trace.n_tokens > 2 * BLOCK
    assert trace.n_tokens % BLOCK
    assert explain.chain(trace, np.float64).largest <= 1e-4
    check = explain.Recomputation(trace)
    place = explain.Place(1, 2, 6, 7, 3, model.config.d_model + 1)
    steps = (explain.score(trace, place), explain.softmax(trace, place), explain.convolution(trace, place))
    assert all(one.agrees for step in steps for one in step.check(check))


def test_tokens_attend_inside_their_block(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT, request=["pattern"])
    places = torch.arange(trace.n_tokens) // BLOCK
    together = places[:, None] == places
    for layer in range(trace.config.n_layers):
        maps = trace.layer_attention(layer)
        assert not maps[:, ~together].any()
        torch.testing.assert_close(maps, trace.values[f"layers.{layer}.pattern"], atol=1e-5, rtol=0)
    plain = model.trace(TEXT)  # block by block, by torch's kernel
    torch.testing.assert_close(plain.output, trace.output, atol=1e-5, rtol=1e-5)
    padded = model.trace(TEXT, pad_to=trace.n_tokens + 7)
    torch.testing.assert_close(padded.unpadded.output, plain.output, atol=1e-5, rtol=1e-5)


def test_parts_add_up_around_the_letters(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT)
    middle = trace.config.letters_layer
    assert middle == trace.config.n_layers // 2
    entering = trace.values[trace.entering(middle)]
    with torch.no_grad():
        added = model.encoder.layers[middle].letters(trace.streams[middle])
    torch.testing.assert_close(entering, trace.streams[middle] + added, atol=1e-5, rtol=1e-5)
    assert float(added.abs().max()) > 1e-2
    _, before, _ = next(iter(residual_stream.sublayer_updates(trace, middle)))
    torch.testing.assert_close(before, entering, rtol=1e-5, atol=1e-5)
    direction = torch.randn(trace.config.d_model, generator=torch.Generator().manual_seed(0))
    effect = direct_effect(trace, direction)
    assert effect.sum == pytest.approx(effect.total, rel=1e-4, abs=1e-3)


def test_effects_are_those_of_a_whole_run(model: encoder.TextEncoder) -> None:
    trace, edits = model.trace(TEXT), (AblateHead(0, 1),)
    (found,) = (outputs for _, outputs in run_variants(model, trace, [edits]))
    torch.testing.assert_close(found[0], model.trace(TEXT, edits=edits).output, atol=1e-5, rtol=0)
    outcome = causal.Similarity("the dog")
    expected = float(outcome.on(model, trace)(trace.output[None])[0])
    assert trace.gradients(outcome).outcome == pytest.approx(expected, abs=1e-5)


def test_the_cost_counts_blocks(model: encoder.TextEncoder) -> None:
    some, more = (cost(model.config, n, 0) for n in (100, 200))
    assert more.layer_flops == pytest.approx(2 * some.layer_flops, rel=1e-6)


@pytest.mark.parametrize("seconds", [0.02, 0.5, 0.7042])
def test_the_spectrogram_is_torchaudios(seconds: float) -> None:
    """MelSpectrogram's definition by torch's own Fourier transform, scaled as GraniteSpeechFeatureExtractor does."""
    samples, found = sounds.tone(seconds).samples, PairedMel(n_mels=40)
    sound = torch.tensor(samples, dtype=torch.float64)
    window = torch.hann_window(400, dtype=torch.float64)
    power = torch.stft(sound, 512, 160, 400, window, center=True, pad_mode="reflect", return_complex=True).abs() ** 2
    hertz = torch.linspace(0, 8000, 257, dtype=torch.float64)
    top = 2595.0 * np.log10(1.0 + 8000.0 / 700.0)
    edges = 700.0 * (10.0 ** (torch.linspace(0, top, 42, dtype=torch.float64) / 2595.0) - 1.0)
    slopes = edges[None] - hertz[:, None]
    widths = edges.diff()
    filters = torch.minimum(-slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]).clamp(min=0)
    log = (power.T @ filters).clamp(min=1e-10).log10()
    log = torch.maximum(log, log.max() - 8.0) / 4 + 1
    log = log[: len(log) // 2 * 2]
    np.testing.assert_allclose(found.features(samples), log.reshape(-1, 80), atol=1e-4)
    assert len(log) // 2 == found.n_steps(len(samples))


def test_the_whole_model_leaves_its_language_model_out(tmp_path: Path) -> None:
    case = every_family.ALL["granite_speech"]
    made, alone = every_family.opened(case)
    made.save_pretrained(tmp_path)
    fields = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    whole = {"model_type": "granite_speech", "encoder_config": fields}
    (tmp_path / "config.json").write_text(json.dumps(whole), encoding="utf-8")
    weights = load_file(tmp_path / "model.safetensors")
    moved = {f"model.encoder.{name}": value for name, value in weights.items()}
    moved["model.projector.query"] = torch.zeros(1, 3, 4)
    save_file(moved, tmp_path / "model.safetensors")
    mels = {"n_fft": 400, "win_length": 320, "hop_length": 240, "n_mels": 80}
    given = {"feature_extractor_type": "GraniteSpeechFeatureExtractor", "melspec_kwargs": mels}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(given), encoding="utf-8")
    found = encoder.load(tmp_path, device="cpu")
    assert any("language model" in note for note in found.notes)
    assert any("letters" in note for note in found.notes)
    assert found.preparation == PairedMel(16_000, 80, 400, 320, 240)
    assert alone.preparation == PairedMel()
    with torch.no_grad():
        given = alone.prepare(sounds.tone(0.3))[None]
        torch.testing.assert_close(found.encoder(given), alone.encoder(given))
    again = encoder.load(encoder.save(found, tmp_path / "own", layout="encoderscope"), device="cpu")
    assert again.preparation == found.preparation


@pytest.mark.parametrize(
    ("fields", "named"), [({"context_size": 9}, "context_size"), ({"conv_kernel_size": 4}, "conv_kernel_size")]
)
def test_settings_that_do_not_fit(fields: dict[str, Any], named: str, tmp_path: Path) -> None:
    every_family.write(
        every_family.ALL["granite_speech"], every_family.opened(every_family.ALL["granite_speech"])[0], tmp_path
    )
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **fields}), encoding="utf-8")
    with pytest.raises(LoadError, match=named):
        encoder.load(tmp_path, device="cpu")
