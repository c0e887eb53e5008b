"""X-MOD: the adapters of one language, the third sublayer of a layer, in every place that takes a layer apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import encoder
from encoder import causal, explain
from encoder.causal.variants import run_variants
from encoder.edits import Replace, Zero
from encoder.errors import LoadError
from encoder.gradients import direct_effect
from encoder.measure.residual_stream import sublayer_updates
from encoder.model.config import ConfigError
from encoder.views.model_parts import with_parts
from encoder.views.model_picture import model_picture
from tests.load import every_family

TEXT, OTHER = "w7 w8 w9 w30", "w7 w18 w9 w30"


@pytest.fixture(scope="module", params=["xmod", "xmod, norms first"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    case = every_family.ALL[request.param]
    return every_family.write(case, case.make(), tmp_path_factory.mktemp("xmod") / "model")


@pytest.fixture(scope="module")
def model(folder: Path) -> encoder.TextEncoder:
    opened = encoder.load(folder, device="cpu")
    assert isinstance(opened, encoder.TextEncoder)
    return opened


def changed(folder: Path, to: Path, **fields: object) -> Path:
    """A copy of a checkpoint with other fields in config.json."""
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    known = json.loads((to / "config.json").read_text())
    (to / "config.json").write_text(json.dumps(known | fields))
    return to


def test_the_language_decides_the_adapter(folder: Path, model: encoder.TextEncoder, tmp_path: Path) -> None:
    assert any("de_DE" in note for note in model.notes)
    first = encoder.load(changed(folder, tmp_path / "first", default_language=None), device="cpu")
    english = encoder.load(changed(folder, tmp_path / "en", default_language="en_XX"), device="cpu")
    assert torch.equal(first.trace(TEXT).output, english.trace(TEXT).output)
    assert not torch.allclose(english.trace(TEXT).output, model.trace(TEXT).output, atol=1e-3)


@pytest.mark.parametrize(
    "fields",
    [
        {"default_language": "xx_XX"},
        {"languages": []},
        {"languages": "en_XX"},
        {"adapter_reduction_factor": 0},
        {"adapter_reduction_factor": 100},
        {"adapter_reuse_layer_norm": False, "adapter_layer_norm": False},
        {"ln_before_adapter": None},
        {"pre_norm": "yes"},
    ],
)
def test_other_settings_are_refused(folder: Path, tmp_path: Path, fields: dict[str, object]) -> None:
    if fields == {"ln_before_adapter": None}:  # the other way round
        fields = {"ln_before_adapter": json.loads((folder / "config.json").read_text())["pre_norm"]}
    with pytest.raises(LoadError, match=next(iter(fields))):
        encoder.load(changed(folder, tmp_path / "other", **fields), device="cpu")


def test_only_an_encoder_with_its_sublayers_in_turn_has_one() -> None:
    with pytest.raises(ConfigError, match="adapter"):
        encoder.EncoderConfig(vocab_size=9, d_model=8, n_layers=1, n_heads=2, d_ffn=8, adapter=2, output_norms=True)


def test_a_saved_model_has_one_language(folder: Path, model: encoder.TextEncoder, tmp_path: Path) -> None:
    import transformers

    saved = encoder.save(model, tmp_path / "saved", layout="huggingface")
    assert json.loads((saved / "config.json").read_text())["languages"] == ["de_DE"]
    again = encoder.load(saved, device="cpu")
    torch.testing.assert_close(again.trace(TEXT).output, model.trace(TEXT).output, rtol=0, atol=0)
    theirs = transformers.AutoModel.from_pretrained(saved, attn_implementation="eager").eval()
    with torch.no_grad():
        output = theirs(torch.tensor([model.trace(TEXT).ids])).last_hidden_state[0]
    torch.testing.assert_close(output, model.trace(TEXT).output, rtol=1e-5, atol=1e-5)


def test_three_sublayers_make_the_residual_stream(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT, request=("adapter_out",))
    assert list(trace.residual)[1:4] == [f"layers.0.after_{part}" for part in ("attention", "ffn", "adapter")]
    for layer in range(model.config.n_layers):
        parts = list(sublayer_updates(trace, layer))
        assert [part for part, _, _ in parts] == ["attention", "ffn", "adapter"]
        torch.testing.assert_close(parts[2][2], trace.values[f"layers.{layer}.adapter_out"], rtol=1e-4, atol=1e-5)
    assert torch.equal(trace.streams[1], trace.values["layers.0.after_adapter"])
    assert {f"layers.{layer}.adapter_norm" for layer in range(3)} <= set(trace.norms)


def test_an_edit_of_the_adapter_changes_what_follows(model: encoder.TextEncoder) -> None:
    plain = model.trace(TEXT)
    edit = Zero("adapter_out", layer=1)
    edited = model.trace(TEXT, edits=[edit], request=("adapter_out",))
    assert edited.values["layers.1.adapter_out"].abs().max() == 0
    assert torch.equal(edited.values["layers.1.after_ffn"], plain.values["layers.1.after_ffn"])
    assert not torch.allclose(edited.output, plain.output, atol=1e-3)
    ((_, outputs),) = run_variants(model, plain, [(edit,)])
    torch.testing.assert_close(outputs[0], edited.output, rtol=1e-5, atol=1e-5)
    with pytest.raises(encoder.EncoderError):
        encoder.load("twin-pre", device="cpu").trace("a", edits=[edit])


def test_the_stream_that_enters_a_layer_is_patched_whole(model: encoder.TextEncoder) -> None:
    """All tokens of the other text after a layer, by single patches and at once, give the other text's output."""
    plain, other = model.trace(TEXT), model.trace(OTHER)
    edits = [Replace(model.config.after_layer, other, layer=1)]
    torch.testing.assert_close(model.trace(TEXT, edits=edits).output, other.output, rtol=1e-5, atol=1e-5)
    grid = causal.patch(model, OTHER, TEXT, causal.Similarity("w50"))
    exact = model.trace(TEXT, edits=[causal.patch_edit("residual", other, 2, 2, model.config.after_layer)])
    before, after = causal.outcomes_of(model, plain, [exact], causal.Similarity("w50"))
    assert float(grid[2, 2]) == pytest.approx(after - before, abs=1e-5)


def test_direct_effects_add_up(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT)
    found = direct_effect(trace, torch.linspace(-1, 1, model.config.d_model), 2)
    assert found.sum == pytest.approx(found.total, rel=1e-4)


def test_its_neurons_are_explained(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT, request=("adapter.hidden", "adapter_out"))
    reference = explain.Recomputation(trace)
    step = explain.feed_forward(trace, explain.Place(1, query=2, component=3, neuron=5), "adapter")
    np.testing.assert_allclose(step.hidden, trace.values["layers.1.adapter.hidden"][2], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(step.output, trace.values["layers.1.adapter_out"][2], rtol=1e-4, atol=1e-5)
    assert all(check.agrees for check in step.check(reference))
    with pytest.raises(encoder.EncoderError, match="neuron"):
        explain.feed_forward(trace, explain.Place(1, neuron=model.config.adapter), "adapter")
    with pytest.raises(encoder.EncoderError, match="adapter"):
        explain.add_norm(encoder.load("twin-pre", device="cpu").trace("a"), explain.Place(), "adapter")
    with pytest.raises(encoder.EncoderError, match="adapter"):
        explain.feed_forward(encoder.load("twin-pre", device="cpu").trace("a"), explain.Place(), "adapter")


def test_the_picture_has_its_parts(model: encoder.TextEncoder) -> None:
    trace = model.trace(TEXT)
    place = explain.Place(1, 2, 3, 1)
    picture = model_picture(trace, 1, 2, 3, 1)
    assert picture.header["sublayers"] == ["attention", "ffn", "adapter"]
    assert picture.arrays["updates"].shape == (3, 3, trace.n_tokens)
    found = with_parts(picture, trace, place, part="adapter", model=model, reference=explain.Recomputation(trace))
    parts = found.header["parts"]
    assert isinstance(parts, dict)
    for key in ("norm-adapter", "adapter", "add-adapter"):
        assert parts[key]["checks"], key
        assert all(agrees for *_, agrees, _ in parts[key]["checks"]), key


def test_the_flow_of_a_token_has_its_stage(model: encoder.TextEncoder) -> None:
    flow = explain.token_flow(model.trace(TEXT), 2)
    assert [stage.part for stage in flow.stages[:3]] == ["attention", "ffn", "adapter"]
