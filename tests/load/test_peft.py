"""Adapters of PEFT next to the weights of their base: LoRA and DoRA, by the sums of their papers, written out."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import LoadError
from tests.load import folders
from tests.load.folders import put

LAYER = "encoder.layer.{}.attention.self.{}"
SETTINGS = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["query", "value"], "bias": "none"}


def adapter(folder: Path, *, norms: bool = False, before: str = "", **settings: Any) -> dict[str, torch.Tensor]:
    """An adapter of queries and values of a BERT; its tensors."""
    generator = torch.Generator().manual_seed(3)
    tensors = {}
    for layer in range(2):
        for part in ("query", "value"):
            place = f"base_model.model.{before}{LAYER.format(layer, part)}"
            tensors[f"{place}.lora_A.weight"] = torch.randn(4, 32, generator=generator) * 0.3
            tensors[f"{place}.lora_B.weight"] = torch.randn(32, 4, generator=generator) * 0.3
            if norms:
                tensors[f"{place}.lora_magnitude_vector"] = torch.rand(32, generator=generator) + 0.5
    save_file(tensors, folder / "adapter_model.safetensors", {"format": "pt"})
    put(folder / "adapter_config.json", {**SETTINGS, "base_model_name_or_path": "org/base", **settings})
    return tensors


def merged(folder: Path, to: Path, change: Callable[[torch.Tensor, dict[str, torch.Tensor], str], torch.Tensor]) -> Any:
    """The model with the changes made by hand."""
    adapter_tensors = load_file(folder / "adapter_model.safetensors")
    weights = load_file(folder / "model.safetensors")
    for layer in range(2):
        for part in ("query", "value"):
            name = next(one for one in weights if one.endswith(f"{LAYER.format(layer, part)}.weight"))
            place = next(one for one in adapter_tensors if f"{LAYER.format(layer, part)}.lora_A" in one)
            weights[name] = change(weights[name], adapter_tensors, place.removesuffix(".lora_A.weight"))
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("adapter*"))
    save_file(weights, to / "model.safetensors", {"format": "pt"})
    return encoder.load(to, device="cpu")


def plain(scale: float) -> Any:
    return lambda w, t, place: w + scale * t[f"{place}.lora_B.weight"] @ t[f"{place}.lora_A.weight"]


def with_norms(w: torch.Tensor, t: dict[str, torch.Tensor], place: str) -> torch.Tensor:
    whole = w + 2.0 * t[f"{place}.lora_B.weight"] @ t[f"{place}.lora_A.weight"]
    rows = [t[f"{place}.lora_magnitude_vector"][i] * row / row.norm() for i, row in enumerate(whole)]
    return torch.stack(rows)


def same(one: Any, other: Any) -> None:
    torch.testing.assert_close(one.trace("the cat").output, other.trace("the cat").output, atol=1e-5, rtol=0.0)


@pytest.mark.parametrize(
    ("settings", "norms", "change"),
    [
        ({}, False, plain(2.0)),
        ({"use_rslora": True}, False, plain(4.0)),
        ({"lora_alpha": 4}, False, plain(1.0)),
        ({"lora_alpha": 4, "alpha_pattern": {"query|value": 8}}, False, plain(2.0)),
        ({"use_dora": True}, True, with_norms),
    ],
    ids=["lora", "rslora", "alpha", "alpha_pattern", "dora"],
)
@pytest.mark.parametrize("name", ["BertModel", "BertForMaskedLM"])
def test_the_sums_by_hand(settings: dict[str, Any], norms: bool, change: Any, name: str, tmp_path: Path):
    folders.bert(tmp_path / "both", name)
    before = encoder.load(tmp_path / "both", device="cpu")
    adapter(tmp_path / "both", norms=norms, before="bert." if name == "BertForMaskedLM" else "", **settings)
    model = encoder.load(tmp_path / "both", device="cpu")
    assert any("adapter" in note and "4 weights" in note for note in model.notes)
    same(model, merged(tmp_path / "both", tmp_path / "merged", change))
    assert not torch.allclose(model.trace("the cat").output, before.trace("the cat").output, atol=0.01)


def test_a_sentence_encoder_with_an_adapter_of_other_prefix(tmp_path: Path):
    folder = folders.sentence_bert(tmp_path / "both", name="BertForMaskedLM")
    adapter(folder)
    assert encoder.load(folder, device="cpu").pooling == "mean"
    same(encoder.load(folder, device="cpu"), merged(folder, tmp_path / "merged", plain(2.0)))


def test_weights_of_the_adapters_own_take_the_place_of_the_bases(tmp_path: Path):
    folders.bert(tmp_path / "both")
    tensors = adapter(tmp_path / "both")
    bias = torch.arange(32.0) / 32
    tensors["base_model.model.encoder.layer.0.output.dense.bias"] = bias
    save_file(tensors, tmp_path / "both/adapter_model.safetensors", {"format": "pt"})
    model = encoder.load(tmp_path / "both", device="cpu")
    assert torch.equal(model.encoder.layers[0].ffn.w_out.bias, bias)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"peft_type": "IA3"}, "peft_type='IA3'"),
        ({"peft_type": "PREFIX_TUNING"}, "PREFIX_TUNING"),
        ({"init_lora_weights": "pissa_niter_4"}, "pissa"),
        ({"lora_bias": True}, "lora_bias"),
        ({"lora_alpha": "much"}, "lora_alpha='much'"),
    ],
)
def test_other_adapters_are_refused_by_name(settings: dict[str, Any], named: str, tmp_path: Path):
    folders.bert(tmp_path)
    adapter(tmp_path, **settings)
    with pytest.raises(LoadError, match=named):
        encoder.load(tmp_path, device="cpu")


def test_an_adapter_of_another_model_is_refused(tmp_path: Path):
    folders.bert(tmp_path, num_hidden_layers=1)
    adapter(tmp_path)
    with pytest.raises(LoadError, match=r"layer\.1\.attention"):
        encoder.load(tmp_path, device="cpu")
    folders.bert(tmp_path, hidden_size=48)
    with pytest.raises(LoadError, match="shape"):
        encoder.load(tmp_path, device="cpu")


@pytest.mark.parametrize("is_sentence_encoder", [False, True])
def test_an_adapter_without_its_base_says_what_works(is_sentence_encoder: bool, tmp_path: Path):
    base, alone = tmp_path / "base", tmp_path / "alone"
    for folder in (base, alone):
        folders.sentence_bert(folder) if is_sentence_encoder else folders.bert(folder)
        adapter(folder)
    for name in ("config.json", "model.safetensors"):
        (alone / name).unlink()
    with pytest.raises(LoadError, match=r"config\.json and model\.safetensors.* merge"):
        encoder.load(alone, device="cpu")
    for name in ("config.json", "model.safetensors"):  # the remedy
        (alone / name).write_bytes((base / name).read_bytes())
    same(encoder.load(alone, device="cpu"), encoder.load(base, device="cpu"))


class Lora(torch.nn.Module):
    """A map with an adapter, by the names that PEFT gives."""

    def __init__(self, base: torch.nn.Linear) -> None:
        super().__init__()
        self.base_layer = base
        self.lora_A = torch.nn.ModuleDict({"default": torch.nn.Linear(32, 4, bias=False)})
        self.lora_B = torch.nn.ModuleDict({"default": torch.nn.Linear(4, 32, bias=False)})


def test_a_live_model_with_an_adapter_or_quantised_weights(tmp_path: Path):
    import torch.ao.quantization
    import transformers

    folders.bert(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model = transformers.AutoModel.from_pretrained(tmp_path)
    for layer in model.encoder.layer:
        layer.attention.self.query = Lora(layer.attention.self.query)
    with pytest.raises(LoadError, match=r"adapter.* merge"):
        encoder.wrap(model, tokenizer)
    model = transformers.AutoModel.from_pretrained(tmp_path)
    with warnings.catch_warnings(action="ignore"):
        small = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    with pytest.raises(LoadError, match="quantised"):
        encoder.wrap(small, tokenizer)


def test_the_settings_of_an_adapter_are_an_object(tmp_path: Path):
    folders.bert(tmp_path)
    put(tmp_path / "adapter_config.json", json.dumps([1]))
    with pytest.raises(LoadError, match="adapter_config"):
        encoder.load(tmp_path, device="cpu")
