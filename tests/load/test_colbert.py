"""Folders of ColBERT's own code, and of PyLate: the same vectors of tokens as sentence-transformers gives."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import LoadError, similarity
from tests.load import folders
from tests.load.folders import SIZES, VOCAB, edit, put

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    reference = pytest.importorskip("sentence_transformers", minversion="6.2")

QUERY, DOCUMENT = "the cat , ran", "Hello world . the dog sat , on a mat !"
WIDTH = 12
#: The vocabulary with the tokens that both put before a text, and PyLate's with its space.
MARKED = [*VOCAB, "[unused0]", "[unused1]"]


def close(ours: encoder.TextEncoder, folder: Path) -> None:
    """The same scores of all pairs of tokens."""
    theirs = reference.MultiVectorEncoder(str(folder), device="cpu")
    expected = theirs.encode_query([QUERY])[0] @ theirs.encode_document([DOCUMENT])[0].T
    found = similarity.late_interaction(ours, QUERY, DOCUMENT)
    torch.testing.assert_close(torch.from_numpy(found.matrix), expected.cpu(), atol=1e-5, rtol=0.0)


def colbert(folder: Path, metadata: dict[str, Any] | None) -> Path:
    """A folder of ColBERT's own code."""
    folders.bert(folder, vocabulary=MARKED)
    weights = {f"bert.{name}": one for name, one in load_file(folder / "model.safetensors").items()}
    weights["linear.weight"] = torch.randn(WIDTH, SIZES["hidden_size"], generator=torch.Generator().manual_seed(1))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    edit(folder / "config.json", architectures=["HF_ColBERT"])
    if metadata is not None:
        put(folder / "artifact.metadata", metadata)
    return folder


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        {},
        {"query_maxlen": 9, "doc_maxlen": 7, "attend_to_mask_tokens": True, "mask_punctuation": False},
        {"query_token_id": "[unused1]", "doc_token_id": "cat", "query_maxlen": 5},
        {"query_token_id": "nowhere", "doc_token_id": "the"},
    ],
    ids=str,
)
def test_colberts_own_folder(metadata: dict[str, Any] | None, tmp_path: Path):
    folder = colbert(tmp_path / "colbert", metadata)
    ours = encoder.load(folder, device="cpu")
    close(ours, folder)
    assert not any("linear.weight" in note for note in ours.notes)


def test_colberts_own_folder_without_its_projection_is_refused(tmp_path: Path):
    folder = colbert(tmp_path / "colbert", None)
    weights = load_file(folder / "model.safetensors")
    del weights["linear.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(LoadError, match=r"linear\.weight"):
        encoder.load(folder, device="cpu")


def test_wrong_settings_are_named(tmp_path: Path):
    folder = colbert(tmp_path / "colbert", {"query_token_id": 3})
    with pytest.raises(LoadError, match="query_token_id=3"):
        encoder.load(folder, device="cpu")


def pylate(folder: Path, settings: dict[str, Any]) -> Path:
    """A folder that PyLate wrote."""
    folders.bert(folder, vocabulary=[*VOCAB, "[Q] ", "[D] "])
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    for text in ("[Q] ", "[D] "):
        number = tokenizer["model"]["vocab"][text]
        flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
        tokenizer["added_tokens"].append({"id": number, "content": text, **flags})
    put(folder / "tokenizer.json", tokenizer)
    names = ("sentence_transformers.models.Transformer", "pylate.models.Dense.Dense")
    put(
        folder / "modules.json",
        [{"idx": index, "name": str(index), "path": f"{index}_Dense" if index else "", "type": name}
         for index, name in enumerate(names)],
    )  # fmt: skip
    about = {"in_features": 32, "out_features": WIDTH, "bias": False}
    about["activation_function"] = "torch.nn.modules.linear.Identity"
    put(folder / "1_Dense" / "config.json", about)
    weight = torch.randn(WIDTH, 32, generator=torch.Generator().manual_seed(1))
    save_file({"linear.weight": weight}, folder / "1_Dense" / "model.safetensors", {"format": "pt"})
    put(folder / "config_sentence_transformers.json", settings)
    return folder


MARKERS = {"query_prefix": "[Q] ", "document_prefix": "[D] "}


@pytest.mark.parametrize(
    "settings",
    [
        {"model_type": "ColBERT", **MARKERS, "query_length": 9, "document_length": 7, "skiplist_words": [",", "the"]},
        {"model_type": "ColBERT", **MARKERS, "attend_to_expansion_tokens": True, "query_length": 12},
        {"model_type": "ColBERT", **MARKERS, "do_query_expansion": False, "query_length": 4},
        {"model_type": "ColBERT", "query_prefix": "the ", "document_prefix": None},
        {"model_type": "ColBERT", **MARKERS, "prompts": {"query": "[Q] a ", "document": "cat "}},
        {"model_type": "ColBERT"},
    ],
    ids=str,
)
def test_pylates_folder(settings: dict[str, Any], tmp_path: Path):
    folder = pylate(tmp_path / "pylate", settings)
    close(encoder.load(folder, device="cpu"), folder)


def test_a_model_of_late_interaction_is_saved_with_its_markers(tmp_path: Path):
    folder = colbert(tmp_path / "colbert", {"query_maxlen": 9})
    ours = encoder.load(folder, device="cpu")
    again = encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")
    close(again, folder)
