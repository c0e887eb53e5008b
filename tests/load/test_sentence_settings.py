"""sentence_bert_config.json, the order of joined poolings, and modules of other packages, as in version 6."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch

import encoder
from encoder import LoadError, TextError
from tests.load import folders
from tests.load.folders import TEXTS, edit, put

KINDS = ("sentence_transformers.models.Transformer", "sentence_transformers.models.Pooling")
WAYS = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")


def same(folder: Path) -> encoder.TextEncoder:
    """The same vectors as sentence-transformers makes of the folder, from files and from memory."""
    import sentence_transformers

    model = encoder.load(folder, device="cpu")
    assert isinstance(model, encoder.TextEncoder)
    expected = folders.vectors(folder, TEXTS)
    torch.testing.assert_close(model.embed(TEXTS), expected, atol=1e-5, rtol=0.0)
    live = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    torch.testing.assert_close(encoder.wrap(live).embed(TEXTS), expected, atol=1e-5, rtol=0.0)
    return model


def modality(output: str, made_of: Any) -> dict[str, Any]:
    text = {"method": "forward", "method_output_name": made_of}
    return {"module_output_name": output, "modality_config": {"text": text}}


@pytest.mark.sample(3, "another setting")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        modality("token_embeddings", "last_hidden_state"),
        {"config_kwargs": {"num_hidden_layers": 1}},
        {"config_args": {"num_hidden_layers": 1}},
        {"processor_kwargs": {"model_max_length": 6}},
        {"processor_kwargs": {"model_max_length": 8}, "max_seq_length": 6},
        {"tokenizer_args": {"model_max_length": 6, "truncation_side": "left"}},
        {"processor_kwargs": {"do_lower_case": False}},
        {"processing_kwargs": {"text": {"max_length": 6, "truncation": True}}},
        {"processing_kwargs": {"text": {"add_special_tokens": False}}},
        modality("token_embeddings", ["hidden_states", 1]),
        modality("token_embeddings", ["hidden_states", -1]),
    ],
    ids=str,
)
def test_settings(settings: dict[str, Any], tmp_path: Path):
    same(folders.sentence_bert(tmp_path, settings={"max_seq_length": 32} | settings))


def test_the_poolers_vector(tmp_path: Path):
    settings = modality("sentence_embedding", "pooler_output") | {"transformer_task": "feature-extraction"}
    model = same(folders.sentence_bert(tmp_path, None, settings))
    assert torch.equal(model.dense[0].linear.weight, model.encoder.pooler.weight)


def test_logits_of_words_are_pooled_where_there_is_a_head(tmp_path: Path):
    settings = {"transformer_task": "fill-mask"}
    folder = folders.sentence_bert(tmp_path / "words", settings=settings, name="BertForMaskedLM")
    model = same(folder)
    assert model.width_of_vectors == model.config.vocab_size
    again = encoder.load(encoder.save(model, tmp_path / "saved"), device="cpu")
    assert torch.equal(again.embed(TEXTS), model.embed(TEXTS))
    without = folders.sentence_bert(tmp_path / "without", settings=settings)
    with pytest.raises(LoadError, match="Remove transformer_task"):
        encoder.load(without, device="cpu")
    folders.put(without / "sentence_bert_config.json", {})
    same(without)


@pytest.mark.parametrize("name", ["sentence_roberta_config.json", "sentence_xlm-roberta_config.json"])
def test_the_older_names_of_the_file(name: str, tmp_path: Path):
    folder = folders.sentence_bert(tmp_path)
    (folder / "sentence_bert_config.json").unlink()
    put(folder / name, {"max_seq_length": 5})
    assert same(folder).max_embed_tokens == 5


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"processing_kwargs": {"text": {"split_special_tokens": True}}}, "split_special_tokens"),
        ({"processing_kwargs": [1]}, r"processing_kwargs=\[1\]"),
        ({"model_kwargs": {"subfolder": "x"}}, "subfolder"),
        ({"model_kwargs": {"num_labels": 3}}, "num_labels"),
        ({"config_kwargs": 3}, "config_kwargs=3"),
        ({"transformer_task": "text-generation"}, "transformer_task"),
        ({"transformer_task": "retrieval"}, "colmodernvbert"),
        ({"tokenizer_name_or_path": "elsewhere"}, "tokenizer_name_or_path"),
        (modality("token_embeddings", ["hidden_states", 0]), "hidden state 0"),
        (modality("token_embeddings", "attentions"), "method_output_name"),
        (modality("sentence_embedding", "pooler_output"), "sentence_embedding"),
    ],
)
def test_settings_that_are_not_followed_are_refused_by_name(settings: dict[str, Any], named: str, tmp_path: Path):
    folder = folders.sentence_bert(tmp_path, settings=settings)
    with pytest.raises(LoadError, match=named):
        encoder.load(folder, device="cpu")


@pytest.mark.sample(6, "another pair of poolings")
@pytest.mark.parametrize("ways", [*itertools.combinations(WAYS, 2), WAYS[:3], WAYS], ids="+".join)
def test_joined_poolings_have_the_order_of_the_library(ways: tuple[str, ...], tmp_path: Path):
    pooling = {f"pooling_mode_{way}": way in ways for way in reversed(WAYS)}
    same(folders.sentence_bert(tmp_path, pooling))


CODE = """from sentence_transformers.models import {0} as Usual
class {0}(Usual):
    def forward(self, features, **more):
        return super().forward(features, **more)
"""


@pytest.mark.filterwarnings("ignore:Importing from")
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("package", ["custom_st", "transformers_modules.org.name.custom_st", "org/name--custom_st"])
def test_a_module_of_the_checkpoints_own_code_is_refused_by_name(place: int, package: str, tmp_path: Path):
    import sentence_transformers

    name = KINDS[place].rsplit(".", 1)[-1]
    kinds = (f"{package}.{name}", KINDS[1]) if place == 0 else (KINDS[0], f"{package}.{name}")
    folder = folders.sentence_bert(tmp_path, kinds=kinds)
    with pytest.raises(LoadError, match=rf"{package}\.{name}"):
        encoder.load(folder, device="cpu")
    if package == "custom_st":  # the remedy
        put(folder / "custom_st.py", CODE.format(name))
        live = sentence_transformers.SentenceTransformer(str(folder), device="cpu", trust_remote_code=True)
        with pytest.raises(LoadError, match=name):
            encoder.wrap(live)
        opened = encoder.wrap(live[0].auto_model, live.tokenizer)
        assert opened.trace(TEXTS[0]).n_tokens > 5


@pytest.mark.parametrize("wrong", [None, 3, [3], b"text"])
def test_embed_says_of_another_type_what_trace_says(wrong: Any, tmp_path: Path):
    model = encoder.load(folders.sentence_bert(tmp_path), device="cpu")
    for call in (model.embed, model.trace):
        with pytest.raises(TextError, match="is not text"):
            call(wrong)


def test_a_tokenizer_that_cannot_be_made_says_what_works(tmp_path: Path):
    folders.bert(tmp_path)
    edit(tmp_path / "tokenizer_config.json", cls_token=None)
    with pytest.raises(LoadError, match="PreTrainedTokenizerFast"):
        encoder.load(tmp_path, device="cpu")
    edit(tmp_path / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")  # the remedy
    assert encoder.load(tmp_path, device="cpu").trace("cat").n_tokens == 3


def test_an_unknown_family_names_the_nearest(tmp_path: Path):
    folders.bert(tmp_path)
    edit(tmp_path / "config.json", model_type="robertta")
    with pytest.raises(LoadError, match=r"robertta.* roberta.*docs/models\.md") as caught:
        encoder.load(tmp_path, device="cpu")
    assert len(str(caught.value)) < 300


def test_an_adapter_without_weights_says_what_works(tmp_path: Path):
    folders.bert(tmp_path)
    put(tmp_path / "adapter_config.json", {"peft_type": "LORA"})
    with pytest.raises(LoadError, match=r"remove adapter_config\.json"):
        encoder.load(tmp_path, device="cpu")
    (tmp_path / "adapter_config.json").unlink()  # the remedy
    assert encoder.load(tmp_path, device="cpu").takes == "text"
