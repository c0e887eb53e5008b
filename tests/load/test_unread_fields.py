"""Fields of config.json and weights that the reference does not read: they change nothing here either."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import LoadError
from encoder.checkpoints.checkpoint import settled
from encoder.checkpoints.families import Fields, family_of
from tests.load import every_family, folders
from tests.load.folders import SIZES, VOCAB
from tests.load.nomic_experts import NomicExpertsConfig

N = len(VOCAB)
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "ModernBert": ("sans_pos", {"pad_token_id": 0}),
    "NomicBert": ("rotary", {"pad_token_id": 0, "max_position_embeddings": 64}),
    "EuroBert": ("rope", {"pad_token_id": 0, "num_key_value_heads": 4}),
    "Gte": ("rope", {"pad_token_id": 0, "max_position_embeddings": 64}),
    "Bert": ("relative_key", {"max_position_embeddings": 64}),
    "Roberta": ("relative_key_query", {"max_position_embeddings": 66, "pad_token_id": 1}),
}


def outputs(folder: Path, ids: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """The output for ids, of transformers and of ours."""
    import transformers

    given = torch.tensor([ids])
    with torch.no_grad():
        theirs = transformers.AutoModel.from_pretrained(folder).eval()(input_ids=given).last_hidden_state
        return theirs[0], encoder.load(folder, device="cpu").encoder(given)[0]


def checkpoint(name: str, folder: Path, **fields: Any) -> Path:
    import transformers

    config = getattr(transformers, f"{name}Config")(**{"vocab_size": N, **SIZES, **fields})
    folders.made(f"{name}Model", config, folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=_words()).save_pretrained(folder)
    return folder


def _words() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers

    found = Tokenizer(models.WordLevel({word: index for index, word in enumerate(VOCAB)}, unk_token="[UNK]"))
    found.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return found


def test_bert_with_alibi_and_its_own_feed_forward_layer_is_bert(tmp_path: Path):
    """Jina v2 is told by its gated layer."""
    folder = checkpoint("Bert", tmp_path, max_position_embeddings=64)
    folders.edit(folder / "config.json", position_embedding_type="alibi", feed_forward_type="original")
    torch.testing.assert_close(*outputs(folder, [5, 6, 7]), atol=1e-5, rtol=0.0)


def test_jina_v2_with_norms_of_q_and_k_is_refused(tmp_path: Path):
    folder = checkpoint("Bert", tmp_path, max_position_embeddings=64)
    own = {"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"}
    folders.edit(folder / "config.json", position_embedding_type="alibi", feed_forward_type="geglu", auto_map=own)
    with pytest.raises(LoadError, match="two norms after attention"):
        encoder.load(folder, device="cpu")


@pytest.mark.parametrize("name", FAMILIES)
def test_position_embedding_type_of_families_that_do_not_read_it(name: str, tmp_path: Path):
    value, fields = FAMILIES[name]
    folder = checkpoint(name, tmp_path, **fields)
    folders.edit(folder / "config.json", position_embedding_type=value)
    torch.testing.assert_close(*outputs(folder, [5, 6, 7]), atol=1e-5, rtol=0.0)


def test_roformers_saved_table_and_none(tmp_path: Path):
    """Transformers rotates by the saved table, and by sines where it is absent."""
    folder = checkpoint("RoFormer", tmp_path, max_position_embeddings=64)
    folders.edit(folder / "config.json", position_embedding_type="rotary")
    weights = load_file(folder / "model.safetensors")
    name = "encoder.embed_positions.weight"
    torch.testing.assert_close(*outputs(folder, [5, 6, 7]), atol=1e-5, rtol=0.0)
    assert encoder.load(folder, device="cpu").config.rotary_table
    weights.pop(name)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    torch.testing.assert_close(*outputs(folder, [5, 6, 7]), atol=1e-5, rtol=0.0)
    assert not encoder.load(folder, device="cpu").config.rotary_table


def test_distances_that_the_reference_no_longer_uses_are_left_out_by_name(tmp_path: Path):
    folder = checkpoint("Bert", tmp_path, max_position_embeddings=64)
    path = folder / "model.safetensors"
    name = "encoder.layer.0.attention.self.distance_embedding.weight"
    save_file(load_file(path) | {name: torch.ones(127, 8)}, path, {"format": "pt"})
    folders.edit(folder / "config.json", position_embedding_type="relative_key")
    torch.testing.assert_close(*outputs(folder, [5, 6, 7]), atol=1e-5, rtol=0.0)
    assert any(name in note for note in encoder.load(folder, device="cpu").notes)


def test_esm_reads_it(tmp_path: Path):
    fields = {"max_position_embeddings": 64, "pad_token_id": 1, "mask_token_id": 4}
    folder = checkpoint("Esm", tmp_path, **fields, position_embedding_type="rotary")
    folders.edit(folder / "config.json", position_embedding_type="relative_key")
    with pytest.raises(LoadError, match="position_embedding_type='relative_key'"):
        encoder.load(folder, device="cpu")


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("Llama", {"num_key_value_heads": 2, "max_position_embeddings": 64}),
        ("Mistral", {"num_key_value_heads": 2}),
        ("Qwen2", {"num_key_value_heads": 2}),
        ("Bert", {"max_position_embeddings": 64}),
        ("Roberta", {"max_position_embeddings": 66}),
        ("Electra", {"embedding_size": 16, "max_position_embeddings": 64}),
    ],
)
def test_no_padding_token(name: str, fields: dict[str, Any], tmp_path: Path):
    folder = checkpoint(name, tmp_path, **fields)
    folders.edit(folder / "config.json", pad_token_id=-1)
    torch.testing.assert_close(*outputs(folder, [5, 6, 7]), atol=1e-5, rtol=0.0)


@pytest.mark.parametrize("name", ["Deberta", "DebertaV2"])
@pytest.mark.parametrize("terms", [[], ["c2p"], ["p2c", "c2p"]])
def test_terms_of_distances_that_are_named_but_not_computed_scale_the_scores(
    tmp_path: Path, name: str, terms: list[str]
):
    """The reference divides by their number also where `relative_attention` is false, and they are left out."""
    fields = {"pos_att_type": terms, "relative_attention": False, "max_position_embeddings": 64, "pad_token_id": 0}
    folder = checkpoint(name, tmp_path, **fields)
    torch.testing.assert_close(*outputs(folder, [5, 6, 7, 8]), atol=1e-5, rtol=0.0)


def test_a_decoders_window_is_the_one_that_is_named_last(tmp_path: Path):
    """As in the encoder, `sliding_window` comes before half of `local_attention`."""
    folder = checkpoint("ModernBertDecoder", tmp_path, local_attention=14, pad_token_id=0, max_position_embeddings=64)
    ids = [5, 6, 7, 8, 9, 10, 11, 12]
    wide = outputs(folder, ids)
    folders.edit(folder / "config.json", sliding_window=3)
    narrow = outputs(folder, ids)
    torch.testing.assert_close(*wide, atol=1e-5, rtol=0.0)
    torch.testing.assert_close(*narrow, atol=1e-5, rtol=0.0)
    assert not torch.allclose(wide[0], narrow[0], atol=1e-3)


#: What the published config.json of nomic-embed-text calls the fields of transformers.
NOMIC = {"n_embd": "hidden_size", "n_head": "num_attention_heads", "n_inner": "intermediate_size",
         "n_layer": "num_hidden_layers", "n_positions": "max_position_embeddings",
         "layer_norm_epsilon": "layer_norm_eps"}  # fmt: skip


def test_the_published_keys_of_nomic_bert(tmp_path: Path):
    folder = checkpoint("NomicBert", tmp_path, pad_token_id=0, max_position_embeddings=64, layer_norm_eps=1e-6)
    before = encoder.load(folder, device="cpu").trace("a b")
    path = folder / "config.json"
    fields = json.loads(path.read_text(encoding="utf-8"))
    renamed = {old: fields.pop(new) for old, new in NOMIC.items()}
    path.write_text(json.dumps({**fields, **renamed, "num_experts": 0}), encoding="utf-8")
    assert torch.equal(encoder.load(folder, device="cpu").trace("a b").output, before.output)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("activation_function", "swiglu"), ("activation_function", "geglu"), ("moe_normalize_expert_weights", True),
        ("moe_every_n_layers", 1), ("num_shared_experts", 1), ("expert_choice_router", True), ("ffn_div", 2),
        ("prenorm", True), ("rotary_emb_interleaved", True), ("rotary_emb_fraction", 0.5), ("causal", True),
        ("moe_top_k", 9), ("rotary_emb_scale_base", 512),
    ],
)  # fmt: skip
def test_what_changes_the_experts_of_nomic_bert_is_refused(key: str, value: Any):
    fields = Fields({**NomicExpertsConfig(**every_family.NOMIC_EXPERTS).to_dict(), key: value})
    with pytest.raises(LoadError, match="chosen" if key == "moe_top_k" else key):
        settled(family_of(fields), fields)
