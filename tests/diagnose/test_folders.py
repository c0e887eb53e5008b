"""What is said of a folder: each contradiction by its file, key and values, and nothing of a sound folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers

from encoder import diagnose
from encoder.checkpoints.bundled import BUNDLED
from encoder.errors import LoadError
from tests.diagnose.pipelines import KINDS, write_model


def change(folder: Path, name: str, **values: Any) -> None:
    """Set fields of a JSON file; a value of None removes one."""
    path = folder / name
    fields = json.loads(path.read_text()) if path.exists() else {}
    fields |= values
    path.write_text(json.dumps({key: value for key, value in fields.items() if value is not None}))


def in_tokenizer(**values: Any) -> Callable[[Path], None]:
    return lambda folder: change(folder, "tokenizer.json", **values)


TRUNCATION = {"direction": "Right", "max_length": 32, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 48}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
    "pad_token": "[PAD]",
}  # fmt: skip


def two_onnx_files(folder: Path) -> None:
    (folder / "onnx").mkdir()
    for name in ("model.onnx", "model_quantized.onnx"):
        (folder / "onnx" / name).touch()


def newer_pooling(folder: Path) -> None:
    (folder / "1_Pooling/config.json").write_text(json.dumps({"embedding_dimension": 48, "pooling_mode": "mean"}))


def both_poolings(folder: Path) -> None:
    change(folder, "1_Pooling/config.json", pooling_mode="cls")


def card(folder: Path) -> None:
    (folder / "README.md").write_text('Each input text should start with "query: " or "passage: ".')


#: Row of docs/differ.md -> (model, change, name, part of a value, contradiction).
ROWS: dict[str, tuple[str, Callable[[Path], None], str, str, bool]] = {
    "1 pooling in the newer form": ("bert", newer_pooling, "pooling-form", "mean", False),
    "1 pooling in both forms": ("bert", both_poolings, "pooling-form", "cls", True),
    "5 EOS declared, not added": (
        "llama",
        lambda folder: (
            in_tokenizer(post_processor=None)(folder),
            change(folder, "tokenizer_config.json", add_eos_token=True),
        )[0],
        "special-token",
        "add_eos_token: true",
        True,
    ),
    "6 no EOS before last-token pooling": (
        "qwen3", in_tokenizer(post_processor=None), "eos-missing", "no special token", False,
    ),
    "9 left padding, last token": ("qwen3", lambda folder: None, "padding-side", "left", False),
    "11 fixed padding": ("bert", in_tokenizer(padding=PADDING), "fixed-padding", "48", False),
    "16 Dense": ("bert", lambda folder: None, "dense", "48", False),
    "28 prompts of the card only": ("bert", card, "prompt", "query: ", False),
    "29 a default prompt": (
        "bert",
        lambda folder: change(
            folder, "config_sentence_transformers.json", prompts={"query": "query: "}, default_prompt_name="query"
        ),
        "prompt",
        "query: ",
        False,
    ),
    "29 prompts without a default": (
        "bert",
        lambda folder: change(folder, "config_sentence_transformers.json", prompts={"query": "query: "}),
        "prompt",
        "query",
        False,
    ),
    "3 both directions": ("qwen2", lambda folder: change(folder, "config.json", is_causal=False), "bidirectional",
                          "False", False),
    "33 no tokenizer class": (
        "bert",
        lambda folder: change(folder, "tokenizer_config.json", tokenizer_class=None),
        "tokenizer-class",
        "none",
        False,
    ),
    "34 word markers": (
        "roberta",
        lambda folder: change(folder, "tokenizer_config.json", add_prefix_space=True),
        "word-markers",
        "true",
        True,
    ),
    "30 accents": (
        "bert",
        lambda folder: change(
            folder, "tokenizer_config.json", tokenizer_class="BertTokenizer", strip_accents=False
        ),
        "tokenizer",
        "tokenizer.json",
        True,
    ),
    "35 positions begin at 2": ("roberta", lambda folder: None, "position-offset", "roberta", False),
    "38 truncation": ("bert", in_tokenizer(truncation=TRUNCATION), "truncation", "32", False),
    "38 longer than the table": (
        "bert",
        lambda folder: change(folder, "sentence_bert_config.json", max_seq_length=4_096),
        "max_seq_length",
        "160",
        True,
    ),
    "38 longer than the tokenizer's": (
        "bert",
        lambda folder: change(folder, "tokenizer_config.json", model_max_length=20),
        "max_seq_length",
        "20",
        True,
    ),
    "42 half precision": ("bert", lambda folder: change(folder, "config.json", dtype="float16"), "number-type",
                          "float16", False),
    "43 a quantised ONNX file": ("bert", two_onnx_files, "onnx-files", "model_quantized.onnx", False),
    "47 Matryoshka": (
        "bert",
        lambda folder: change(folder, "config_sentence_transformers.json", truncate_dim=16),
        "matryoshka",
        "16",
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_threads_is_named(row: str, tmp_path: Path):
    model, make, name, value, contradicts = ROWS[row]
    write_model(tmp_path, model, 0, dense=1 if row.endswith("Dense") else 0)
    make(tmp_path)
    found = [one for one in diagnose.check(tmp_path).findings if one.name == name]
    assert found, row
    assert any(value in one for one in found[0].values)
    assert (found[0].level == "contradiction") is contradicts
    assert found[0].said
    assert found[0].remedy


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_models_have_no_contradiction(name: str):
    found = diagnose.check(name)
    assert not found.contradictions
    assert found.code == 0


def test_what_minilm_declares_is_easily_missed():
    names = {one.name for one in diagnose.check("minilm").findings}
    assert names == {"truncation", "fixed-padding"}
    assert {128, 256, 512} <= set(diagnose.folders.lengths_of("minilm"))


@pytest.mark.sample(5, "another random folder")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", KINDS)
def test_a_sound_folder_has_no_contradiction(name: str, seed: int, tmp_path: Path):
    write_model(tmp_path, name, seed, dense=seed, prompt=bool(seed))
    if name == "qwen2":  # transformers splits every folder of Qwen2 by rules of its own, and saves these
        transformers.AutoTokenizer.from_pretrained(tmp_path).save_pretrained(tmp_path)
    found = diagnose.check(tmp_path)
    assert not found.contradictions
    assert not found.trouble


def test_a_broken_folder_says_why(tmp_path: Path):
    (tmp_path / "config.json").write_text("{")
    found = diagnose.check(tmp_path)
    assert "config.json" in found.trouble
    assert found.code == 1
    with pytest.raises(LoadError, match="No folder"):
        diagnose.check(tmp_path / "nowhere")


def test_the_first_line_says_what_was_found(tmp_path: Path):
    """ "Nothing found" is said of a folder without findings only."""
    folder = write_model(tmp_path / "sound", "bert", 0)
    nothing = diagnose.check(folder).said
    change(folder, "tokenizer.json", truncation=TRUNCATION)
    missed = diagnose.check(folder)
    assert [one.level for one in missed.findings] == ["easily missed"]
    both_poolings(folder)
    wrong = diagnose.check(folder)
    assert len({nothing, missed.said, wrong.said}) == 3
    assert "Nothing" not in missed.said
    assert "missed by other programs: 1" in missed.said
    assert "Contradictions: 1" in wrong.said
