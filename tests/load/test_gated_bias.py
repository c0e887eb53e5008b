"""WavLM's bias by distance: the gate of each query is recorded, and edits of the scores keep it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import encoder
from encoder.causal.variants import run_variants
from encoder.edits import SetScore
from encoder.errors import ConfigError
from encoder.explain import Place
from encoder.explain.score import score
from encoder.model.biases import relative_bias
from tests.load import every_family, sounds

SOUND = sounds.tone(0.3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> encoder.AudioEncoder:
    case = every_family.ALL["wavlm, pre-norm"]
    folder: Path = every_family.write(case, case.make(), tmp_path_factory.mktemp("wavlm") / "model")
    opened = encoder.load(folder, device="cpu")
    assert isinstance(opened, encoder.AudioEncoder)
    return opened


def test_scores_of_a_trace_are_those_of_the_forward_pass(model: encoder.AudioEncoder) -> None:
    trace = model.trace(SOUND, request=("scores", "pattern"))
    for layer in range(model.config.n_layers):
        torch.testing.assert_close(trace.layer_scores(layer), trace.values[f"layers.{layer}.scores"])
        gate = trace.values[f"layers.{layer}.bias_gate"]
        assert gate.shape == (model.config.n_heads, trace.n_tokens, 1)
        assert gate.std() > 0.01


def test_the_gate_multiplies_the_bias_of_a_query(model: encoder.AudioEncoder) -> None:
    trace, layer, head, query, key = model.trace(SOUND), 1, 2, 7, 3
    context = trace.contexts[layer]
    gate = trace.values[f"layers.{layer}.bias_gate"][head, query, 0]
    table = model.encoder.bias_table(layer)
    assert table is not None
    table = table.detach()
    plain = relative_bias(table, torch.tensor([query]), torch.tensor([key]), model.config.relative_max_distance)[
        head, 0, 0
    ]
    bias = context.bias()
    assert bias is not None
    torch.testing.assert_close(bias[head, query, key], plain * gate)
    step = score(trace, Place(layer, head, query, key))
    assert step.bias == pytest.approx(float(plain * gate), abs=1e-5)
    assert step.value == pytest.approx(float(trace.scores(layer, head)[query, key]), abs=1e-4)


def test_an_edited_row_of_a_batch_keeps_its_gate(model: encoder.AudioEncoder) -> None:
    edit = SetScore(1, 2, 4, 3, 2.5)
    plain = model.trace(SOUND)
    ((_, outputs),) = run_variants(model, plain, [(edit,), ()])
    torch.testing.assert_close(outputs[0], model.trace(SOUND, edits=[edit]).output, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(outputs[1], plain.output, atol=1e-5, rtol=1e-5)


def test_only_sounds_have_the_gate() -> None:
    with pytest.raises(ConfigError, match="relative_gate"):
        encoder.EncoderConfig(
            vocab_size=9, d_model=8, n_layers=1, n_heads=2, d_ffn=8, relative_buckets=8, relative_gate=True
        )
