"""What cannot be loaded: one clear sentence that names the file, the field or the weight."""

from __future__ import annotations

import json
import math
import pickle
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import LoadError
from encoder.errors import quoted
from tests.load.reference import sentence
from tests.load.test_formats import changed, reconfigured


@pytest.fixture
def folder(checkpoint: Callable, tmp_path: Path) -> Path:
    """A copy of a tiny BERT, to be broken."""
    shutil.copytree(checkpoint("bert").folder, tmp_path / "broken")
    return tmp_path / "broken"


def refused(source: Any, message: str, **keywords: Any) -> str:
    with pytest.raises(LoadError, match=message) as caught:
        encoder.load(source, **keywords)
    text = str(caught.value)
    assert text.endswith((".", ")"))
    return text


# --- nothing there ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["", "   ", "\n"])
def test_no_name(source: str):
    refused(source, "specify a bundled name, a folder or a Hub id")


@pytest.mark.parametrize(
    "source", ["bert", "a/b/c", "../..x", "org/na me", "\0", "x" * 5000, "~nobody-of-this-name/x", "-"]
)
def test_a_name_of_nothing(source: str):
    refused(source, re.escape(f"No model {quoted(source)}"))


def test_unknown_device_and_number_type():
    refused("minilm", "device='abacus'.* auto, cpu, cuda, mps", device="abacus")
    refused("minilm", "dtype='int8'.* float32, bfloat16", dtype="int8")


def test_an_empty_folder(tmp_path: Path):
    refused(tmp_path, r"no config\.json")


def test_a_file_in_place_of_a_folder(folder: Path):
    refused(folder / "config.json", r"config\.json is a file: specify the folder")
    refused(folder / "model.safetensors", r"model\.safetensors is a file: specify the folder")


def test_a_pickle_in_place_of_a_folder(tmp_path: Path):
    path = tmp_path / "model.bin"
    path.write_bytes(pickle.dumps({}))
    refused(path, "A pickle can run code when it is opened")


class Bomb:
    """A pickle that leaves a mark when it is opened."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        return Path.touch, (self.mark,)


def test_the_recipe_for_a_pickle_works(folder: Path, monkeypatch: pytest.MonkeyPatch):
    expected = encoder.load(folder, device="cpu").trace(sentence(5)).output
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(LoadError) as found:
        encoder.load(folder)
    recipe = re.search(r"run in Python, in its folder: (.*)[.]$", str(found.value))
    assert recipe is not None
    monkeypatch.chdir(folder)
    exec(recipe[1], {})
    assert torch.equal(encoder.load(folder, device="cpu").trace(sentence(5)).output, expected)


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
def test_an_export_names_the_way_back(name: str, folder: Path):
    (folder / "model.safetensors").unlink()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    refused(folder, f"{re.escape(name)}.*save_pretrained")


def test_an_adapter_is_merged_first(tmp_path: Path):
    target = tmp_path / "lora"
    target.mkdir()
    (target / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}', encoding="utf-8")
    (target / "adapter_model.safetensors").write_bytes(b"x")
    refused(target, "org/base.*merge_and_unload")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth", "tf_model.h5"])
def test_a_folder_of_pickles_is_never_opened(name: str, folder: Path):
    mark = folder / "opened"
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(pickle.dumps(Bomb(mark)))
    refused(folder, f"{re.escape(name)}. A pickle can run code")
    assert not mark.exists()


def test_a_folder_without_weights(folder: Path):
    (folder / "model.safetensors").unlink()
    refused(folder, r"broken has no model\.safetensors")


# --- files that are not what they should be --------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"{", b"not json", b"\xff\xfe\x00", b"[" * 100_000])
def test_a_config_that_is_not_json(content: bytes, folder: Path):
    (folder / "config.json").write_bytes(content)
    refused(folder, r"config\.json in broken .*JSON")


@pytest.mark.parametrize("content", ["[]", "3", '"bert"', "null"])
def test_a_config_that_is_no_object(content: str, folder: Path):
    (folder / "config.json").write_text(content)
    refused(folder, r"config\.json in broken .*JSON object")


@pytest.mark.parametrize("kept", [0, 4, 8, 100, 0.5, 0.999])
def test_weights_that_are_cut_short(kept: float, folder: Path):
    path = folder / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[: int(kept if kept >= 1 else kept * len(content))])
    refused(folder, r"model\.safetensors in broken .*incomplete")


def test_weights_that_are_something_else(folder: Path):
    (folder / "model.safetensors").write_bytes(pickle.dumps({"a": 1}) * 50)
    refused(folder, "not a readable safetensors file")


def test_a_missing_tokenizer(folder: Path):
    (folder / "tokenizer.json").unlink()
    refused(folder, r"broken has no tokenizer\.json")


# --- an index that lies ----------------------------------------------------------------------------------------------


POINTS_OUTSIDE = [
    "../outside.safetensors", "/etc/outside.safetensors", "a/b.safetensors", "..", "", "C:x.safetensors",
    "a\\b.safetensors", "pytorch_model.bin", "x\0.safetensors",
]  # fmt: skip


@pytest.mark.parametrize("name", POINTS_OUTSIDE)
def test_an_index_that_points_outside_is_refused(name: str, folder: Path):
    shutil.copy(folder / "model.safetensors", folder.parent / "outside.safetensors")
    (folder / "model.safetensors").unlink()  # it would be read, and the index not
    index = {"weight_map": {"embeddings.word_embeddings.weight": name}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, re.escape(f"names {name!r}"))


@pytest.mark.parametrize("content", ["{}", '{"weight_map": {}}', '{"weight_map": 3}', '{"weight_map": null}'])
def test_an_index_that_says_nothing(content: str, folder: Path):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(content)
    refused(folder, "has no weight_map")


def test_a_missing_shard(folder: Path):
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, r"has no model-2\.safetensors")


def test_a_weight_in_two_shards(folder: Path):
    shutil.copy(folder / "model.safetensors", folder / "model-2.safetensors")
    (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    refused(folder, r"the weight .embeddings\.LayerNorm\.\w+. twice")


# --- weights, strictly both ways -------------------------------------------------------------------------------------


EVERY_FAMILY = [
    "bert",
    "roberta",
    "roberta-prelayernorm",
    "distilbert",
    "electra",
    "mpnet",
    "albert",
    "modernbert",
    "vit",
]


@pytest.mark.sample(4, "writes a checkpoint without each of its weights")
@pytest.mark.parametrize("family", EVERY_FAMILY)
@pytest.mark.parametrize("head", ["Model", "ForMaskedLM"])
def test_each_missing_weight_is_named(family: str, head: str, checkpoint: Callable, tmp_path: Path):
    head = "ForImageClassification" if family == "vit" and head == "ForMaskedLM" else head
    folder = checkpoint(family, head, n_layers=1).folder
    for index, name in enumerate(load_file(folder / "model.safetensors")):
        if "pooler" in name or name.startswith("classifier"):
            continue  # together they may be missing
        path = changed(
            folder,
            tmp_path / str(index),
            lambda weights, name=name: {key: weight for key, weight in weights.items() if key != name},
        )
        assert name in refused(path, "lacks the weight")


@pytest.mark.parametrize("family", EVERY_FAMILY)
@pytest.mark.parametrize("name", ["surprise.weight", "encoder.layer.9.attention.self.query.weight", "pooler.more.bias"])
def test_an_unknown_weight_is_named_and_left_out(family: str, name: str, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint(family, n_layers=1)
    path = changed(pair.folder, tmp_path / "more", lambda weights: weights | {name: torch.zeros(40, 40)})
    opened = encoder.load(path, device="cpu")
    assert any(name in note for note in opened.notes)
    for key, value in pair.ours.encoder.state_dict().items():
        assert torch.equal(value, opened.encoder.state_dict()[key])


def test_a_layer_more_than_the_config_says_is_named_and_left_out(checkpoint: Callable, tmp_path: Path):
    import transformers

    folder = reconfigured(checkpoint("bert").folder, tmp_path / "fewer", num_hidden_layers=2)
    opened = encoder.load(folder, device="cpu")
    assert any("encoder.layer.2." in note for note in opened.notes)
    trace = opened.trace("w5 w6")
    theirs = transformers.AutoModel.from_pretrained(folder).eval()(input_ids=torch.tensor([trace.ids]))
    torch.testing.assert_close(trace.output, theirs.last_hidden_state[0].detach(), atol=1e-5, rtol=0.0)


def test_a_layer_less_than_the_config_says(checkpoint: Callable, tmp_path: Path):
    folder = reconfigured(checkpoint("bert").folder, tmp_path / "more", num_hidden_layers=4)
    refused(folder, r"lacks the weight encoder\.layer\.3\.")


def test_half_a_pooler(checkpoint: Callable, tmp_path: Path):
    def halve(weights: dict) -> dict:
        return {name: weight for name, weight in weights.items() if name != "pooler.dense.bias"}

    refused(changed(checkpoint("bert").folder, tmp_path / "half", halve), r"lacks the weight pooler\.dense\.bias")


@pytest.mark.sample(3, "writes a checkpoint with each of its weights reshaped")
@pytest.mark.parametrize("family", EVERY_FAMILY)
def test_each_weight_of_another_shape_is_named(family: str, checkpoint: Callable, tmp_path: Path):
    folder = checkpoint(family, n_layers=1).folder
    weights = load_file(folder / "model.safetensors")
    for index, name in enumerate(weights):
        other = dict(weights)
        other[name] = torch.zeros((*weights[name].shape[:-1], weights[name].shape[-1] + 1))
        target = tmp_path / str(index)
        shutil.copytree(folder, target)
        save_file(other, target / "model.safetensors")
        assert name in refused(target, "has the shape")


@pytest.mark.parametrize(("field", "value"), [("hidden_size", 45), ("vocab_size", 98), ("intermediate_size", 51),
                                              ("max_position_embeddings", 10**6), ("type_vocab_size", 3)])  # fmt: skip
def test_a_config_that_belongs_to_other_weights(field: str, value: int, folder: Path, tmp_path: Path):
    refused(reconfigured(folder, tmp_path / "other", **{field: value}), r"has the shape .* config\.json makes")


# --- config.json -----------------------------------------------------------------------------------------------------


UNSUPPORTED = [
    ("bert", "model_type", "reformer"),
    ("bert", "model_type", "xlnet"),
    ("bert", "model_type", None),
    ("bert", "model_type", ["bert"]),
    ("bert", "is_decoder", True),
    ("bert", "add_cross_attention", True),
    ("bert", "pruned_heads", {"0": [1]}),
    ("bert", "quantization_config", {"bits": 4}),
    ("bert", "hidden_act", "mish"),
    ("bert", "hidden_act", None),
    ("bert", "hidden_size", "40"),
    ("bert", "num_hidden_layers", 0),
    ("bert", "num_hidden_layers", 10**9),
    ("bert", "layer_norm_eps", "tiny"),
    ("roberta", "pad_token_id", "one"),
    ("roberta-prelayernorm", "hidden_act", "mish"),
    ("distilbert", "activation", "mish"),
    ("distilbert", "n_layers", 10**9),
    ("electra", "embedding_size", 24.5),
    ("mpnet", "relative_attention_num_buckets", 16),
    ("albert", "inner_group_num", 2),
    ("albert", "embedding_size", 40),
    ("modernbert", "hidden_activation", "mish"),
    ("modernbert", "rope_scaling", {"rope_type": "longrope", "factor": 4.0}),
    ("modernbert", "rope_parameters", {"full_attention": {"rope_type": "longrope", "factor": 2.0}}),
    ("modernbert", "rope_parameters", "fast"),
    ("modernbert", "layer_types", ["full_attention"]),
    ("modernbert", "layer_types", ["chunked_attention"] * 3),
    ("modernbert", "num_hidden_layers", 10**9),
    ("modernbert", "norm_bias", "no"),
    ("vit", "image_size", [24, 12]),
    ("vit", "patch_size", [4, 2]),
    ("vit", "patch_size", 25),
    ("vit", "pooler_act", "gelu"),
    ("vit", "pooler_output_size", 7),
    ("vit", "hidden_act", "mish"),
]


@pytest.mark.parametrize(
    ("family", "field", "value"), UNSUPPORTED, ids=[f"{f}-{k}-{str(v)[:20]}" for f, k, v in UNSUPPORTED]
)
def test_an_unsupported_field_is_named(family: str, field: str, value: Any, checkpoint: Callable, tmp_path: Path):
    drop = ("rope_parameters",) if field == "rope_scaling" else ()
    folder = reconfigured(checkpoint(family).folder, tmp_path / "odd", drop=drop, **{field: value})
    named = "longrope" if "longrope" in str(value) else value  # of several settings, the one that is not supported
    refused(folder, rf"because of config\.json's {field}={re.escape(repr(named))}")


@pytest.mark.parametrize(
    ("family", "field", "value"), [("albert", "hidden_act", "mish"), ("modernbert", "classifier_activation", "mish")]
)
def test_an_unsupported_head_is_named(family: str, field: str, value: str, checkpoint: Callable, tmp_path: Path):
    folder = reconfigured(checkpoint(family, "ForMaskedLM").folder, tmp_path / "odd", **{field: value})
    refused(folder, rf"because of config\.json's {field}='mish'")


@pytest.mark.parametrize("field", ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads",
                                   "intermediate_size", "max_position_embeddings"])  # fmt: skip
def test_a_missing_field_is_named(field: str, checkpoint: Callable, tmp_path: Path):
    folder = reconfigured(checkpoint("bert").folder, tmp_path / "less", drop=(field,))
    refused(folder, rf"config\.json has no {field}")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_attention_heads", 7),
        ("num_attention_heads", 0),
        ("hidden_size", -1),
        ("hidden_dropout_prob", 2.0),
        ("layer_norm_eps", -1.0),
    ],
)
def test_fields_that_contradict_each_other(field: str, value: Any, folder: Path, tmp_path: Path):
    refused(reconfigured(folder, tmp_path / "odd", **{field: value}), r"config\.json describes no encoder")


# --- what is met later -----------------------------------------------------------------------------------------------


def test_a_word_beyond_the_table_is_named_when_it_is_typed(checkpoint: Callable, tmp_path: Path):
    folder = reconfigured(checkpoint("bert").folder, tmp_path / "small", vocab_size=90)
    path = changed(
        folder,
        tmp_path / "cut",
        lambda weights: (
            weights | {"embeddings.word_embeddings.weight": weights["embeddings.word_embeddings.weight"][:90].clone()}
        ),
    )
    model = encoder.load(path, device="cpu")
    assert model.trace("w89").n_tokens == 3
    with pytest.raises(encoder.TextError, match=r"'w95' the id 95\b.* 0 to 89\b"):
        model.trace("w5 w95")


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"resample": 7}, "resample=7"),
        ({"do_rescale": False}, r"pixels .*0\.\.255"),
        ({"rescale_factor": 0.5}, r"pixels .*0\.\.255"),
        ({"image_mean": [0.5]}, r"image_mean=\[0\.5\].* 3 channels"),
        ({"image_std": "wide"}, "image_std='wide'"),
        ({"image_std": [0.5, True, 0.5]}, r"image_std=\[0\.5, True, 0\.5\]"),
        ({"image_std": [0, 0, 0]}, r"std=\(0\.0, 0\.0, 0\.0\).* from 1e-06 "),
        ({"image_std": [0.5, 0.5, -0.5]}, "std="),
        ({"image_std": [1e-300] * 3}, "std="),
        ({"image_mean": [math.nan] * 3}, r"image_mean=\[nan"),
        ({"image_mean": [0.5, 0.5, math.inf]}, r"image_mean=.*inf"),
        ({"image_mean": [0, 0, 10**400]}, "image_mean="),
        ({"image_mean": [0, 0, 1e30]}, "mean="),
        ({"rescale_factor": "a"}, r"pixels .*0\.\.255"),
        ({"rescale_factor": math.nan}, r"pixels .*0\.\.255"),
        ({"rescale_factor": [1]}, r"pixels .*0\.\.255"),
        ({"resample": False}, "resample=False"),
    ],
)
def test_a_preparation_of_images_that_is_not_known(fields: dict, message: str, checkpoint: Callable, tmp_path: Path):
    shutil.copytree(checkpoint("vit").folder, tmp_path / "images")
    (tmp_path / "images" / "preprocessor_config.json").write_text(json.dumps(fields))
    refused(tmp_path / "images", message)


@pytest.mark.parametrize("shape", [(3, 24), (1, 24, 24), (24, 24, 3)])
def test_pixels_of_another_shape(shape: tuple[int, ...], checkpoint: Callable):
    model = checkpoint("vit").ours
    with pytest.raises(encoder.EncoderError, match=rf"\[3, height, width\].*{re.escape(str(shape))}"):
        model.trace_image(torch.zeros(shape))


def test_pixels_of_another_size(checkpoint: Callable):
    model = checkpoint("vit").ours
    with pytest.raises(encoder.EncoderError, match=r"\(3, 24, 24\).*prepare\(\)"):
        model.trace_image(torch.zeros(3, 30, 24))
