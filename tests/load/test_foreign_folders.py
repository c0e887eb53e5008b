"""A folder from anywhere: a LoadError with a sentence, always; no hang, no abort, no memory without end."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import encoder
from encoder import LoadError
from encoder.checkpoints import inside
from encoder.checkpoints.trial import try_tokenizer
from encoder.errors import ConfigError, SaveError, quoted
from encoder.inputs.tokenizer_bounds import growth_of
from encoder.model.config import MOST, EncoderConfig
from tests.conftest import ROOT
from tests.load.conftest import Pair

TWIN = ROOT / "encoder/data/twin-pre"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint of our own format, to be broken."""
    return Path(shutil.copytree(TWIN, tmp_path / "model"))


@pytest.fixture
def bert(checkpoint: Any, tmp_path: Path) -> Path:
    """A checkpoint of another project, to be broken."""
    return Path(shutil.copytree(checkpoint("bert").folder, tmp_path / "bert"))


def edit(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def refused(folder: str | Path, says: str, **options: Any) -> None:
    with pytest.raises(LoadError, match=says) as caught:
        encoder.load(folder, device="cpu", **options)
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 200 + "b", "org/" + "x" * 300, "\ud800", "a\0b"])
def test_names_that_no_folder_can_have(name: str, tmp_path: Path):
    with pytest.raises(LoadError):
        encoder.load(name)
    with pytest.raises(LoadError):
        inside(tmp_path, name)


@pytest.mark.parametrize("name", [".hidden", "a/.b"])
def test_hidden_folders_are_not_offered(name: str, tmp_path: Path):
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(LoadError, match="hidden"):
        inside(tmp_path, name)


def test_a_long_path_in_modules_json(bert: Path):
    module = {"type": "sentence_transformers.models.Transformer", "path": "x" * 5_000}
    (bert / "modules.json").write_text(json.dumps([module]))
    refused(bert, "No folder")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "special_tokens_map.json", "model.safetensors"])
def test_a_pipe_in_place_of_a_file_is_never_opened(name: str, folder: Path):
    (folder / name).unlink()
    os.mkfifo(folder / name)
    if name == "special_tokens_map.json":  # without it the usual names count
        encoder.load(folder, device="cpu")
    else:
        refused(folder, name)


@pytest.mark.parametrize("name", ["config.json", "special_tokens_map.json", "tokenizer.json", "modules.json"])
def test_json_of_any_depth(name: str, bert: Path):
    for depth in (900, 200_000) if name != "special_tokens_map.json" else (200_000,):
        (bert / name).write_text('{"model_type": ' + "[" * depth + "]" * depth + "}")
        refused(bert, ".")


def test_a_file_of_text_without_end_is_not_read(folder: Path):
    with (folder / "config.json").open("r+b") as file:
        file.truncate(32 << 30)  # sparse: it takes no room on the disk
    refused(folder, "config.json in model: it has .* MB")


@pytest.mark.parametrize("value", [-1, 0, 10**20, 10**400, 1.5, True, "64", None, [64], {"a": 1}, float("nan")])
@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "vocab_size", "max_position_embeddings", "pad_token_id"]
)
def test_sizes_of_any_kind(key: str, value: Any, bert: Path):
    edit(bert / "config.json", **{key: value})
    if key == "pad_token_id" and value in (-1, 0, None):
        encoder.load(bert, device="cpu")
    else:
        refused(bert, ".")


@pytest.mark.parametrize(
    "key", ["type_vocab_size", "layer_norm_eps", "hidden_dropout_prob", "num_attention_heads", "hidden_act"]
)
@pytest.mark.parametrize("value", [-1, 10**400, float("inf"), [[]], {}])
def test_other_fields_of_any_kind(key: str, value: Any, bert: Path):
    edit(bert / "config.json", **{key: value})
    refused(bert, ".")


@pytest.mark.parametrize(
    "fields",
    [{"d_model": 10**20}, {"n_segments": -1}, {"position_offset": 512}, {"relative_buckets": 2}, {"n_layers": 5_000},
     {"attention_window": -1}, {"rotary_base": 0.0}, {"d_head": -4}, {"attention_scale": float("nan")},
     {"n_heads": 10_000, "d_head": 10_000}, {"vocab_size": 1.0}, {"mask_id": 10**20},
     {"norm_eps": 10**400}],
)  # fmt: skip
def test_a_config_checks_its_sizes(fields: dict[str, Any]):
    usual = EncoderConfig(vocab_size=10, d_model=8, n_layers=1, n_heads=2, d_ffn=8)
    with pytest.raises(ConfigError):
        usual.replace(**fields)
    assert usual.replace(vocab_size=MOST).vocab_size == MOST
    assert isinstance(usual.replace(norm_eps=10**20).norm_eps, float), "a whole number is too large for a tensor"


def test_layer_types_of_lists(checkpoint: Any, tmp_path: Path):
    copy = Path(shutil.copytree(checkpoint("modernbert").folder, tmp_path / "modern"))
    for kinds in ([[]] * 3, [{}] * 3, "full_attention", [None] * 3):
        edit(copy / "config.json", layer_types=kinds)
        refused(copy, "layer_types")
    edit(copy / "config.json", layer_types=None, global_attn_every_n_layers=0)
    refused(copy, "global_attn_every_n_layers")


def test_weights_that_do_not_fit_into_memory(tmp_path: Path):
    """A sparse file of any size has a valid header and takes no room on the disk."""
    folder = Path(shutil.copytree(TWIN, tmp_path / "huge"))
    config = json.loads((folder / "config.json").read_text())
    config["encoder"] |= {"vocab_size": MOST, "embedding_width": 1 << 12}
    (folder / "config.json").write_text(json.dumps(config))
    with torch.device("meta"):
        weights = encoder.Encoder(
            EncoderConfig(
                **{
                    name: tuple(value) if isinstance(value, list) else value
                    for name, value in config["encoder"].items()
                }
            )
        ).state_dict()
        if config["mlm_head"]:
            from encoder.model.mlm import MLMHead, MLMHeadConfig

            head = MLMHead(EncoderConfig(**config["encoder"]), MLMHeadConfig(**config["mlm_head"]))
            weights |= {f"mlm_head.{name}": value for name, value in head.state_dict().items()}
    header, end = {}, 0
    for name, value in weights.items():
        size = 4 * value.numel()
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        try:
            file.truncate(8 + len(text) + end)
        except OSError:
            pytest.skip("this file system takes no file of this size")
    refused(folder, "GB|memory")


def test_the_choice_of_files_is_the_references(checkpoint: Any, tmp_path: Path):
    """With a single file next to an index, transformers reads the single file."""
    pair: Pair = checkpoint("bert")
    copy = Path(shutil.copytree(pair.folder, tmp_path / "both"))
    weights = {name: torch.zeros_like(value) for name, value in pair.theirs.state_dict().items()}
    save_file(weights, copy / "model-00001-of-00001.safetensors", metadata={"format": "pt"})
    index = {"weight_map": dict.fromkeys(weights, "model-00001-of-00001.safetensors")}
    (copy / "model.safetensors.index.json").write_text(json.dumps(index))
    theirs = type(pair.theirs).from_pretrained(copy)
    ours = encoder.load(copy, device="cpu").encoder
    wanted = theirs.state_dict()["embeddings.word_embeddings.weight"]
    assert torch.equal(ours.embedding.tokens.weight, wanted)
    (copy / "model.safetensors").unlink()
    assert not encoder.load(copy, device="cpu").encoder.embedding.tokens.weight.any()


@pytest.mark.parametrize(
    "fields", [{"sliding_window": 3}, {"sliding_window": 3, "local_attention": 20}, {"local_attention": 6}]
)
def test_modernberts_window_is_the_references(fields: dict[str, int], checkpoint: Any, tmp_path: Path):
    from transformers import AutoConfig

    copy = Path(shutil.copytree(checkpoint("modernbert").folder, tmp_path / "modern"))
    stored = json.loads((copy / "config.json").read_text())
    stored.pop("local_attention", None)
    (copy / "config.json").write_text(json.dumps(stored | fields))
    windows = encoder.load(copy, device="cpu").config.attention_window
    assert isinstance(windows, tuple)
    assert {window for window in windows if window is not None} == {AutoConfig.from_pretrained(copy).sliding_window}


@pytest.mark.slow("loads a model in another process")
def test_a_served_file_that_is_truncated_does_no_harm(folder: Path):
    """The process would end with SIGBUS if a weight were a view of the mapped file."""
    program = f"""
import encoder
model = encoder.load({str(folder)!r}, device="cpu")
open({str(folder / "model.safetensors")!r}, "r+b").truncate(100)
print(model.trace("the cat").finite)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


def test_a_model_from_inference_mode_can_be_differentiated():
    with torch.inference_mode():
        loaded = encoder.load("twin-pre", device="cpu")
    batch = loaded.tokenizer.batch([loaded.tokenize("the cat")])
    loaded.encoder(batch.ids).sum().backward()
    assert loaded.encoder.embedding.tokens.weight.grad is not None


def test_saving_where_there_is_no_room(tmp_path: Path):
    model = encoder.load("twin-pre", device="cpu")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))  # as a full disk: Python ignores the signal
    try:
        with pytest.raises(SaveError, match="cannot be written"):
            encoder.save(model, tmp_path / "saved")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError):
        encoder.save(model, tmp_path / "file" / "below")
    with pytest.raises(SaveError):
        encoder.save(model, tmp_path / ("x" * 300))


# --- tokenizers -------------------------------------------------------------------------------------------------------


def tokenizer(folder: Path, **parts: Any) -> Path:
    edit(folder / "tokenizer.json", **parts)
    return folder


GROWING = {
    "type": "Sequence",
    "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}] * 9,
}


@pytest.mark.slow("lets a tokenizer run into its bound of time or memory")
def test_a_normaliser_that_grows_a_text_a_billion_fold(folder: Path):
    refused(tokenizer(folder, normalizer=GROWING), "times longer")
    with pytest.raises(LoadError, match=r"too much time or memory|too long"):
        try_tokenizer(folder)


def test_how_much_a_normaliser_grows_a_text():
    assert growth_of(GROWING) == pytest.approx(1e9)
    assert growth_of({"type": "Lowercase"}) == 1
    assert growth_of({"type": "Replace", "pattern": {"Regex": ""}, "content": "ab"}) == 3
    assert growth_of({"type": "Sequence", "normalizers": []}) == 1


@pytest.mark.parametrize(
    "processor",
    [
        {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 2,
         "pair": [{"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {}},
        {"type": "TemplateProcessing", "single": [], "pair": [], "special_tokens": {}},
        {"type": "BertProcessing", "sep": ["[SEP]", 4_000_000_000], "cls": ["[CLS]", 4_000_000_000]},
    ],
)  # fmt: skip
def test_a_template_that_repeats_or_drops_the_text(processor: dict[str, Any], folder: Path):
    try:
        loaded = encoder.load(tokenizer(folder, post_processor=processor), device="cpu")
    except LoadError:
        return
    with pytest.raises(encoder.EncoderError):
        loaded.trace("the cat")


def test_an_empty_vocabulary(folder: Path):
    for kind in ("WordPiece", "WordLevel", "BPE", "Unigram"):
        model: dict[str, Any] = {"type": kind, "vocab": [] if kind == "Unigram" else {}, "unk_token": "[UNK]"}
        if kind == "BPE":
            model["merges"] = []
        if kind == "Unigram":
            model["unk_id"] = 0
        if kind == "WordPiece":
            model |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
        try:
            loaded = encoder.load(tokenizer(folder, model=model, added_tokens=[]), device="cpu")
        except LoadError:
            continue
        with pytest.raises(encoder.EncoderError):
            loaded.trace("")


def test_an_ordinary_tokenizer_passes_its_trial(folder: Path):
    try_tokenizer(folder)
    assert encoder.load(folder, device="cpu", trial=True).trace("the cat").finite


def test_a_value_in_an_error_is_brief():
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    assert len(quoted(deep)) < 200
    assert len(quoted("x" * 10**6)) < 200
    assert quoted("abc") == "'abc'"
