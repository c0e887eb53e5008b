"""Folders of sentence-transformers: pooling, maps, normalisation, limits, and where the encoder lies in them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import encoder
from encoder import LoadError
from tests.load.reference import sentence

TEXTS = [sentence(3), sentence(12, seed=1), sentence(7, seed=2)]
OLD = "sentence_transformers.models."
NEW = "sentence_transformers.sentence_transformer.modules."


def write(target: Path, files: dict[str, Any]) -> None:
    for name, content in files.items():
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), encoding="utf-8")


def modules(*entries: tuple[str, str], prefix: str = OLD) -> list[dict[str, Any]]:
    return [
        {"idx": index, "name": str(index), "path": path, "type": f"{prefix}{kind}"}
        for index, (kind, path) in enumerate(entries)
    ]


USUAL = (("Transformer", ""), ("Pooling", "1_Pooling"))


@pytest.fixture
def folder(checkpoint: Callable, tmp_path: Path) -> Path:
    """A copy of a tiny BERT, to be wrapped."""
    shutil.copytree(checkpoint("bert").folder, tmp_path / "wrapped")
    return tmp_path / "wrapped"


def outputs(model: Any) -> list[torch.Tensor]:
    return [model.trace(text).output for text in TEXTS]


BY_HAND: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mean": lambda x: x.sum(0) / len(x),
    "cls": lambda x: x[0],
    "max": lambda x: x.max(0).values,
    "mean_sqrt_len_tokens": lambda x: x.sum(0) / len(x) ** 0.5,
    "weightedmean": lambda x: sum((i + 1) * row for i, row in enumerate(x)) / sum(range(len(x) + 1)),
    "lasttoken": lambda x: x[-1],
}
OLDER_NAMES = {
    "mean": "mean_tokens", "cls": "cls_token", "max": "max_tokens", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean": "weightedmean_tokens", "lasttoken": "lasttoken",
}  # fmt: skip


@pytest.mark.parametrize("mode", BY_HAND)
@pytest.mark.parametrize("newer", [False, True], ids=["older files", "newer files"])
def test_pooling(mode: str, newer: bool, folder: Path):
    old = {f"pooling_mode_{name}": name == OLDER_NAMES[mode] for name in OLDER_NAMES.values()}
    pooling = {"embedding_dimension": 40, "pooling_mode": mode} if newer else {"word_embedding_dimension": 40, **old}
    prefix = NEW if newer else OLD
    write(folder, {"modules.json": modules(*USUAL, prefix=prefix), "1_Pooling/config.json": pooling})
    model = encoder.load(folder, device="cpu")
    expected = torch.stack([BY_HAND[mode](output) for output in outputs(model)])
    torch.testing.assert_close(model.embed(TEXTS), expected, atol=1e-5, rtol=0.0)


def test_without_its_files_it_is_the_plain_mean(folder: Path):
    model = encoder.load(folder, device="cpu")
    assert (model.pooling, model.normalise, model.max_embed_tokens) == ("mean", False, None)


@pytest.mark.parametrize("mode", ["mean", ["mean"]])
def test_normalised_in_a_folder_of_its_own_and_cut(mode: Any, folder: Path):
    outer = folder.parent / "outer"
    outer.mkdir()
    shutil.move(folder, outer / "0_Transformer")
    entries = (("Transformer", "0_Transformer"), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize"))
    write(
        outer,
        {
            "modules.json": modules(*entries),
            "1_Pooling/config.json": {"pooling_mode": mode},
            "0_Transformer/sentence_bert_config.json": {"max_seq_length": 9, "do_lower_case": False},
        },
    )
    model = encoder.load(outer, device="cpu")
    assert (model.name, model.normalise, model.max_embed_tokens) == ("outer", True, 9)
    cut = model.tokenize(TEXTS[1], max_tokens=9)
    assert len(cut) == 9
    expected = torch.nn.functional.normalize(model.trace_tokens(cut).output.mean(0), dim=0)
    torch.testing.assert_close(model.embed(TEXTS)[1], expected, atol=1e-5, rtol=0.0)
    assert model.trace(TEXTS[1]).n_tokens == 14  # a trace shows all that the encoder takes


def test_the_tokenizer_says_where_to_cut_when_nothing_else_does(folder: Path):
    write(folder, {"modules.json": modules(*USUAL), "1_Pooling/config.json": {"pooling_mode": "mean"}})
    write(folder, {"tokenizer_config.json": {"model_max_length": 17}})
    assert encoder.load(folder, device="cpu").max_embed_tokens == 17
    write(folder, {"tokenizer_config.json": {"model_max_length": int(1e30)}})
    assert encoder.load(folder, device="cpu").max_embed_tokens is None


def test_lower_case_first(folder: Path):
    write(folder, {"modules.json": modules(*USUAL), "1_Pooling/config.json": {"pooling_mode": "mean"}})
    write(folder, {"sentence_bert_config.json": {"max_seq_length": 30, "do_lower_case": True}})
    model = encoder.load(folder, device="cpu")
    assert model.tokenize("W17 w18").ids == model.tokenize("w17 w18").ids == (2, 17, 18, 3)


@pytest.mark.parametrize(("activation", "function"), [("Tanh", torch.tanh), ("Identity", lambda x: x)])
@pytest.mark.parametrize("bias", [True, False], ids=["biased", "unbiased"])
def test_a_dense_map(activation: str, function: Callable, bias: bool, folder: Path, tmp_path: Path):
    weights = {"linear.weight": torch.randn(23, 40)} | ({"linear.bias": torch.randn(23)} if bias else {})
    entries = (*USUAL, ("Dense", "2_Dense"), ("Normalize", "3_Normalize"))
    write(
        folder,
        {
            "modules.json": modules(*entries),
            "1_Pooling/config.json": {"pooling_mode": "cls"},
            "2_Dense/config.json": {
                "in_features": 40,
                "out_features": 23,
                "bias": bias,
                "activation_function": f"torch.nn.modules.activation.{activation}",
            },
        },
    )
    save_file(weights, folder / "2_Dense" / "model.safetensors")
    model = encoder.load(folder, device="cpu")
    mapped = torch.stack(
        [function(weights["linear.weight"] @ x[0] + weights.get("linear.bias", 0.0)) for x in outputs(model)]
    )
    expected = torch.nn.functional.normalize(mapped, dim=-1)
    torch.testing.assert_close(model.embed(TEXTS), expected, atol=1e-5, rtol=0.0)
    assert model.embed([]).shape == (0, 23)
    again = encoder.load(encoder.save(model, tmp_path / "own"), device="cpu")
    assert torch.equal(again.embed(TEXTS), model.embed(TEXTS))


def test_a_prompt_is_mentioned(folder: Path):
    write(folder, {"modules.json": modules(*USUAL), "1_Pooling/config.json": {"pooling_mode": "mean"}})
    write(folder, {"config_sentence_transformers.json": {"prompts": {"q": "query: "}, "default_prompt_name": "q"}})
    assert any("'query: '" in note for note in encoder.load(folder, device="cpu").notes)
    write(folder, {"config_sentence_transformers.json": {"prompts": {"q": "query: "}, "default_prompt_name": None}})
    assert encoder.load(folder, device="cpu").notes == ()


DENSE = {"in_features": 40, "out_features": 23, "bias": True, "activation_function": "torch.nn.modules.activation.Tanh"}


@pytest.mark.parametrize(
    ("entries", "files", "message"),
    [
        ((*USUAL, ("LSTM", "2_LSTM")), {}, "module 'LSTM'"),
        ((*USUAL, ("WordWeights", "2")), {}, "module 'WordWeights'"),
        ((("Pooling", "1_Pooling"), ("Transformer", "")), {}, "Pooling, Transformer: .* Transformer, .*Pooling"),
        ((*USUAL, ("WeightedLayerPooling", "1_Pooling")), {}, "WeightedLayerPooling: .* WeightedLayerPooling, Pooling"),
        ((*USUAL, ("SpladePooling", "1_Pooling")), {}, "Pooling, SpladePooling: .* Transformer"),
        (USUAL, {"1_Pooling/config.json": {"pooling_mode": ["mean", "median"]}}, "pooling_mode='median'"),
        (USUAL, {"1_Pooling/config.json": {"pooling_mode": "median"}}, "pooling_mode='median'"),
        ((("Transformer", ""), ("Pooling", "../elsewhere")), {}, r"'\.\./elsewhere' leads out"),
        ((("Transformer", "/etc"), ("Pooling", "1_Pooling")), {}, "'/etc' leads out"),
        ((("Transformer", "0_T"), ("Pooling", "1_Pooling")), {}, "No folder '0_T'"),
        (
            (*USUAL, ("Dense", "2_Dense")),
            {"2_Dense/config.json": {**DENSE, "activation_function": "torch.nn.Softshrink"}},
            "activation_function='Softshrink'.* Identity, Tanh, ReLU, GELU",
        ),
        (
            (*USUAL, ("Dense", "2_Dense")),
            {"2_Dense/config.json": {**DENSE, "activation_function": "os.system"}},
            "^2_Dense has activation_function='os.system'.* torch.nn.ReLU, or choose another checkpoint.$",
        ),
        (
            (*USUAL, ("Dense", "2_Dense")),
            {"2_Dense/config.json": {**DENSE, "module_input_name": "token_embeddings"}},
            "module_input_name='token_embeddings'",
        ),
        ((*USUAL, ("Dense", "2_Dense")), {"2_Dense/config.json": {"bias": True}}, "describes no linear map"),
        ((*USUAL, ("Dense", "2_Dense")), {"2_Dense/config.json": DENSE}, r"2_Dense has no model\.safetensors"),
    ],
)
def test_what_is_not_known_is_named(entries: tuple, files: dict, message: str, folder: Path):
    write(folder, {"1_Pooling/config.json": {"pooling_mode": "mean"}, "modules.json": modules(*entries)} | files)
    with pytest.raises(LoadError, match=message):
        encoder.load(folder)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"linear.weight": (23, 40)}, r"lacks the weight linear\.bias"),
        ({"linear.weight": (23, 40), "linear.bias": (23,), "more": (1,)}, "2_Dense .*unknown weight .more"),
        ({"linear.weight": (23, 41), "linear.bias": (23,)}, r"linear\.weight in 2_Dense has the shape \(23, 41\)"),
    ],
)
def test_the_weights_of_a_dense_map_are_read_strictly(weights: dict, message: str, folder: Path):
    write(folder, {"1_Pooling/config.json": {"pooling_mode": "mean"}, "2_Dense/config.json": DENSE})
    write(folder, {"modules.json": modules(*USUAL, ("Dense", "2_Dense"))})
    save_file({name: torch.zeros(shape) for name, shape in weights.items()}, folder / "2_Dense" / "model.safetensors")
    with pytest.raises(LoadError, match=message):
        encoder.load(folder)


def test_modules_without_end(folder: Path):
    (folder / "modules.json").write_text(json.dumps([{"type": "a.Dense", "path": ""}] * 100_000))
    with pytest.raises(LoadError, match=r"100,000 modules.{,60}$"):
        encoder.load(folder)


@pytest.mark.parametrize("content", ["[]", "{}", "[1]", "nonsense"])
def test_modules_that_are_no_list_of_modules(content: str, folder: Path):
    (folder / "modules.json").write_text(content)
    with pytest.raises(LoadError, match=r"modules\.json in wrapped\b.* not?\b"):
        encoder.load(folder)
