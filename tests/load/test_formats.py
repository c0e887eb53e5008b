"""The forms in which the same weights lie on disk: old names, shards, half precision, names in memory, old configs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import encoder
from encoder import LoadError
from tests.load import every_family, reference
from tests.load.reference import sentence

TEXT = sentence(23)


def changed(folder: Path, target: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]) -> Path:
    """A copy of a checkpoint whose weights went through `change`."""
    shutil.copytree(folder, target)
    weights = {name: weight.clone() for name, weight in load_file(folder / "model.safetensors").items()}
    save_file(change(weights), target / "model.safetensors", metadata={"format": "pt"})
    return target


def reconfigured(folder: Path, target: Path, drop: tuple[str, ...] = (), **fields: Any) -> Path:
    """A copy of a checkpoint whose config.json has other fields."""
    shutil.copytree(folder, target)
    held = json.loads((folder / "config.json").read_text())
    held = {key: value for key, value in held.items() if key not in drop} | fields
    (target / "config.json").write_text(json.dumps(held))
    return target


def same(folder: Path, pair: Any) -> Any:
    """Load `folder` and hold it against the pair's own outputs, to the last bit."""
    model = encoder.load(folder, device="cpu")
    assert torch.equal(model.trace(TEXT).output, pair.ours.trace(TEXT).output)
    return model


@pytest.mark.parametrize("head", ["Model", "ForMaskedLM"])
def test_gamma_and_beta(head: str, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("bert", head)

    def old(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        spelling = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        renamed = {}
        for name, weight in weights.items():
            for new, older in spelling.items():
                name = name.replace(new, older)
            renamed[name] = weight
        assert any(name.endswith("gamma") for name in renamed)
        return renamed

    same(changed(pair.folder, tmp_path / "old", old), pair)


def test_one_weight_under_two_spellings_is_refused(checkpoint: Callable, tmp_path: Path):
    def twice(weights: dict[str, Tensor]) -> dict[str, Tensor]:
        weights["embeddings.LayerNorm.gamma"] = weights["embeddings.LayerNorm.weight"].clone()
        return weights

    folder = changed(checkpoint("bert").folder, tmp_path / "twice", twice)
    with pytest.raises(LoadError, match=r"embeddings\.LayerNorm\.weight twice, as .*embeddings\.LayerNorm\.gamma"):
        encoder.load(folder)


@pytest.mark.parametrize("family", ["bert", "modernbert", "albert"])
def test_shards(family: str, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint(family, "ForMaskedLM")
    shutil.copytree(pair.folder, tmp_path / "sharded")
    (tmp_path / "sharded" / "model.safetensors").unlink()
    pair.theirs.save_pretrained(tmp_path / "sharded", max_shard_size="20KB")
    assert len(list((tmp_path / "sharded").glob("model-*-of-*.safetensors"))) > 2
    assert same(tmp_path / "sharded", pair).mlm_head is not None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_on_disk_is_float32_in_memory(dtype: torch.dtype, checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("bert", "ForMaskedLM")
    folder = changed(pair.folder, tmp_path / "half", lambda w: {name: weight.to(dtype) for name, weight in w.items()})
    model = encoder.load(folder, device="cpu")
    kinds = {weight.dtype for weight in (*model.encoder.parameters(), *model.mlm_head.parameters())}
    assert kinds == {torch.float32}
    ours, theirs = model.encoder.state_dict(), pair.ours.encoder.state_dict()
    assert all(torch.equal(weight, theirs[name].to(dtype).float()) for name, weight in ours.items())


@pytest.mark.parametrize("declared", ["float16", "torch.bfloat16", "float32", "int8", None, 3])
def test_a_number_type_that_is_not_followed_is_a_note(declared: object, checkpoint: Callable, tmp_path: Path):
    folder = shutil.copytree(checkpoint("bert").folder, tmp_path / "declared")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": declared}))
    notes = [note for note in encoder.load(folder, device="cpu").notes if "dtype=" in note]
    assert len(notes) == (declared in ("float16", "torch.bfloat16"))
    for note in notes:
        assert str(declared).removeprefix("torch.") in note
        assert note.count("float32") == 2
    followed = [note for note in encoder.load(folder, device="cpu", dtype="bfloat16").notes if "dtype=" in note]
    assert len(followed) == (declared == "float16")


def test_bfloat16_in_memory(checkpoint: Callable):
    pair = checkpoint("bert", "ForMaskedLM")
    model = encoder.load(pair.folder, device="cpu", dtype="bfloat16")
    kinds = {weight.dtype for weight in (*model.encoder.parameters(), *model.mlm_head.parameters())}
    assert kinds == {torch.bfloat16}
    trace = model.trace(TEXT)
    assert trace.output.dtype is torch.bfloat16
    torch.testing.assert_close(trace.output.float(), pair.ours.trace(TEXT).output, atol=0.2, rtol=0.0)


@pytest.mark.parametrize(
    "family", ["bert", "roberta", "distilbert", "electra", "mpnet", "albert", "modernbert", "roberta-prelayernorm"]
)
def test_a_state_dict_as_it_was_in_memory(family: str, checkpoint: Callable, tmp_path: Path):
    """With the tied table a second time, both names of a tied bias, and the buffers of older versions."""
    pair = checkpoint(family, "ForMaskedLM")

    def everything(_: dict[str, Tensor]) -> dict[str, Tensor]:
        weights = {name: weight.clone() for name, weight in pair.theirs.state_dict().items()}
        prefix = next(name for name in weights if "embeddings" in name).split("embeddings")[0]
        if family != "modernbert":
            weights[f"{prefix}embeddings.position_ids"] = torch.arange(211)[None]
        return weights

    model = same(changed(pair.folder, tmp_path / "whole", everything), pair)
    assert model.mlm_head.config.tied
    assert model.notes == ()


def test_a_head_whose_table_differs_keeps_it_whatever_the_config_says(checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("bert", "ForMaskedLM", tie_word_embeddings=False)
    folder = reconfigured(pair.folder, tmp_path / "wrong", tie_word_embeddings=True)
    assert not encoder.load(folder, device="cpu").mlm_head.config.tied


def test_images_under_the_names_of_memory(checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("vit")
    in_memory = {name: weight.clone() for name, weight in pair.theirs.state_dict().items()}
    assert "layers.0.attention.q_proj.weight" in in_memory
    folder = changed(pair.folder, tmp_path / "memory", lambda _: in_memory)
    pixels = torch.rand(3, 24, 24)
    ours = encoder.load(folder, device="cpu").trace_image(pixels).output
    assert torch.equal(ours, pair.ours.trace_image(pixels).output)


NEWER = ("layer_types", "rope_parameters")


@pytest.mark.parametrize(
    ("drop", "fields"),
    [
        (NEWER, {"global_attn_every_n_layers": 3, "global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0}),
        (NEWER, {"global_attn_every_n_layers": 2, "global_rope_theta": 500.0, "local_rope_theta": 70.0}),
        (NEWER, {"global_attn_every_n_layers": 3, "global_rope_theta": 500.0, "local_rope_theta": None}),
        (NEWER, {}),
        (("rope_parameters",), {"global_rope_theta": 500.0}),
    ],
    ids=["the usual", "every other", "local base unknown", "nothing said", "half and half"],
)
def test_modernbert_with_an_older_config(drop: tuple, fields: dict, checkpoint: Callable, tmp_path: Path):
    import transformers

    folder = reconfigured(checkpoint("modernbert").folder, tmp_path / "older", drop=drop, **fields)
    ours = encoder.load(folder, device="cpu")
    usual = {key: value for key, value in fields.items() if value is not None}
    config = reference.config_of("modernbert", 3, **usual)
    bases = [config.rope_parameters[kind]["rope_theta"] for kind in config.layer_types]
    assert list(ours.config.rotary_base) == bases
    assert [window is not None for window in ours.config.attention_window] == [
        kind == "sliding_attention" for kind in config.layer_types
    ]
    if usual == fields:
        theirs = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
        inputs = reference.inputs_of(ours, [(TEXT, None)], "modernbert")
        with torch.no_grad():
            expected = theirs(**inputs).last_hidden_state[0]
        torch.testing.assert_close(ours.trace(TEXT).output, expected, atol=1e-5, rtol=0.0)


LINEAR = {"rope_type": "linear", "factor": 4.0}


@pytest.mark.parametrize(
    ("name", "rope"),
    [
        ("ultrabert", {"rope_parameters": None}),
        ("ultrabert", {"rope_parameters": {"full_attention": {}, "sliding_attention": {}}}),
        ("ultrabert", {"rope_parameters": {"full_attention": {"rope_theta": 500.0}, "sliding_attention": {}}}),
        ("gemma3, both ways", {"rope_parameters": {"rope_theta": 500.0, **LINEAR}}),
        ("gemma3, both ways", {"rope_parameters": {"full_attention": {"rope_theta": 500.0}}}),
        ("gemma3, both ways", {"rope_parameters": None, "rope_scaling": LINEAR}),
        ("modernbert", {"rope_parameters": None, "rope_scaling": LINEAR}),
    ],
    ids=str,
)
def test_rotary_settings_by_kind_of_layer(name: str, rope: dict[str, Any], tmp_path: Path):
    """Settings without a base, without a kind, and those of transformers 4: the bases and scalings of transformers."""
    import transformers

    case = every_family.ALL[name]
    every_family.write(case, case.make(), tmp_path / "plain")
    folder = reconfigured(tmp_path / "plain", tmp_path / "other", **rope)
    config, ours = transformers.AutoConfig.from_pretrained(folder), encoder.load(folder, device="cpu").config
    theirs = [config.rope_parameters[kind] for kind in config.layer_types]
    assert [ours.rotary_of_layer(layer)[0] for layer in range(ours.n_layers)] == [one["rope_theta"] for one in theirs]
    scalings = [ours.rotary_of_layer(layer)[1] for layer in range(ours.n_layers)]
    assert [one.factor if one else None for one in scalings] == [one.get("factor") for one in theirs]


def test_a_factor_that_rounding_turns_into_none_is_refused(tmp_path: Path):
    case = every_family.ALL["llama, dynamic"]
    every_family.write(case, case.make(), tmp_path / "plain")
    rope = {"rope_type": "dynamic", "rope_theta": 500.0, "factor": 1e308}
    folder = reconfigured(tmp_path / "plain", tmp_path / "other", rope_parameters=rope)
    with pytest.raises(LoadError, match="factor=1e"):
        encoder.load(folder, device="cpu")


def test_a_fused_weight_is_copied_part_by_part(checkpoint: Callable):
    """A view would keep the whole map, and the file, alive: a truncated file would then end the process."""
    model = encoder.load(checkpoint("modernbert").folder, device="cpu")
    weights = model.encoder.layers[1].attention
    q, k, v = (linear.weight for linear in (weights.w_q, weights.w_k, weights.w_v))
    assert [weight.untyped_storage().nbytes() for weight in (q, k, v)] == [40 * 40 * 4] * 3
