"""A refusal that says what to do: done, the folder opens as in the reference."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import encoder
from encoder.errors import EncoderError, LoadError
from tests.load import differential
from tests.load.differential import REMOVED

pytestmark = pytest.mark.sample(8, "opens a folder in both libraries")


@dataclass(frozen=True)
class Refusal:
    """A key that is wrong, and what its sentence says to do. says: what the sentence must have; then: the value that
    follows it, by file and key."""

    form: str
    file: str
    key: str
    value: Any
    says: str
    then: Any = REMOVED


POOLING, ALL = "1_Pooling/config.json", "config_sentence_transformers.json"
BERT, TOKENIZER = "sentence_bert_config.json", "tokenizer_config.json"
REFUSALS = (
    Refusal("plain", "config.json", "is_decoder", True, "choose an encoder", False),
    Refusal("plain", "config.json", "hidden_act", "mish", "choose one of", "gelu"),
    Refusal("plain", "config.json", "vocab_size", 10, "use the config.json of these weights", 48),
    Refusal("plain", "config.json", "num_hidden_layers", 5000, "choose 1 to", 2),
    Refusal("plain", "config.json", "layer_norm_eps", "small", "specify a number", 1e-12),
    Refusal("plain", "config.json", "pad_token_id", "none", "specify a whole number", 0),
    Refusal("plain", "config.json", "model_type", "berd", "the nearest names are", "bert"),
    Refusal("reranker", "config.json", "problem_type", "odd", "correct it", None),
    Refusal("reranker", "config.json", "id2label", {"1": "yes"}, "correct it", {"0": "yes"}),
    Refusal("sentence", BERT, "processing_kwargs", {"text": {"x": 1}}, "remove it"),
    Refusal("sentence", BERT, "tokenizer_name_or_path", "elsewhere", "remove it"),
    Refusal("sentence", BERT, "model_kwargs", {"x": 1}, "remove it"),
    Refusal("sentence", BERT, "config_kwargs", 3, "specify an object", {}),
    Refusal("sentence", BERT, "transformer_task", "fill-mask", "Remove transformer_task"),
    Refusal("sentence", BERT, "transformer_task", "retrieval", "remove transformer_task"),
    Refusal("splade", BERT, "modality_config",
            {"text": {"method": "forward", "method_output_name": ["hidden_states", 1]}}, "remove modality_config"),
    Refusal("sentence", POOLING, "pooling_mode", "odd", "choose one of", "max"),
    Refusal("sentence", ALL, "default_prompt_name", "query", "correct it", None),
    Refusal("sentence", ALL, "prompts", {"query": 3}, "specify a text for each", {"query": "the "}),
    Refusal("sentence", ALL, "truncate_dim", 0, "specify a whole number", 8),
    Refusal("pylate", ALL, "skiplist_words", 3, "specify a list", [","]),
    Refusal("pylate", ALL, "query_prefix", 3, "specify the text", "[Q] "),
    Refusal("colbert", "artifact.metadata", "doc_token_id", 3, "specify the text", "[unused1]"),
    Refusal("steps", "2_Dense/config.json", "activation_function", "code.ReLU", r"torch\.nn\.ReLU", "torch.nn.ReLU"),
    Refusal("steps", "2_Dense/config.json", "activation_function", "torch.nn.Mish", "one of", "torch.nn.Tanh"),
    Refusal("steps", "4_Normalize/config.json", "module_input_name", "other", "sentence_embedding",
            "sentence_embedding"),
    Refusal("splade", "1_SpladePooling/config.json", "pooling_strategy", "mean", "choose max, sum", "sum"),
    Refusal("splade", "1_SpladePooling/config.json", "activation_function", "gelu", "choose relu", "relu"),
    Refusal("late", "3_MultiVectorMask/config.json", "skiplist_words", "the", "specify a list", ["the"]),
    Refusal("late", "3_MultiVectorMask/config.json", "skiplist_tasks", 3, "query and document", ["query"]),
    Refusal("late", "3_MultiVectorMask/config.json", "keep_only_token_ids", 5, "specify a list of ids",
            [*range(2, 30)]),
)  # fmt: skip


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return differential.write_originals(tmp_path_factory.mktemp("remedies"))


def what_is_said(folder: Path, form: str) -> str:
    """The refusal of a folder, or the note about a head that is left out."""
    try:
        notes = encoder.load(folder, device="cpu").notes
        differential.of_ours(folder, form)
    except LoadError as error:
        return str(error)
    except EncoderError:  # no head
        return "\n".join(notes)
    raise AssertionError(f"the folder opens, with the notes {notes}")


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.form}-{case.key}-{case.value}"[:50])
def test_what_the_sentence_says(case: Refusal, originals: dict[str, Path], tmp_path: Path):
    folder = Path(shutil.copytree(originals[case.form], tmp_path / "model"))
    path = folder / case.file
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    differential.change(folder, case.file, case.key, case.value)
    said = what_is_said(folder, case.form)
    assert re.search(case.says, said), said
    assert case.key.rsplit(".", 1)[-1] in said or case.file in said
    then = before.get(case.key, REMOVED) if case.key == "vocab_size" else case.then
    differential.change(folder, case.file, case.key, then)
    assert differential.outcome(folder, {}, (), case.form) == "equal"


def test_a_filler_of_queries_without_a_vector(originals: dict[str, Path], tmp_path: Path):
    """A mask token that the vocabulary lacks gets an id after the last one."""
    folder = Path(shutil.copytree(originals["late"], tmp_path / "model"))
    differential.change(folder, ALL, "skiplist_words", None)  # then queries are filled
    differential.change(folder, TOKENIZER, "mask_token", "<mask>")
    with pytest.raises(EncoderError, match="use the checkpoint's own tokenizer"):
        differential.of_ours(folder, "late")
    differential.change(folder, TOKENIZER, "mask_token", "[MASK]")
    differential.of_ours(folder, "late")
