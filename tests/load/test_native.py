"""Our own checkpoints: what is saved comes back to the last bit, whole or not at all, and strictly."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from pathlib import Path

import pytest
import tokenizers
import torch
from safetensors.torch import load_file, save_file

import encoder
from encoder import EncoderConfig, EncoderError, LoadError, MLMHead, MLMHeadConfig, TextEncoder
from encoder.checkpoints import json_fields, native
from encoder.checkpoints.weights import WeightFiles
from encoder.disk import folder as whole_folders
from encoder.inputs.tokenizer import Tokenizer
from encoder.model.config import Patches
from encoder.model.experts import Experts

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "the", "cat", "sat", "on", "a", "mat"]
save = functools.partial(encoder.save, layout="encoderscope")

PLAIN = EncoderConfig(vocab_size=len(WORDS), d_model=12, n_layers=2, n_heads=3, d_ffn=20, max_positions=17)
VARIANTS = {
    "plain": PLAIN,
    "pre-norm": PLAIN.replace(norm_placement="pre", final_norm=True),
    "rotary": PLAIN.replace(
        position="rotary", rotary_base=(100.0, 50.0), attention_window=(None, 3), gated=True, norm_bias=False,
        attention_bias=False, ffn_bias=False, first_norm=False, activation="silu",
    ),
    "shared": PLAIN.replace(layer_groups=1, embedding_width=5, n_segments=2, pooler=True),
    "experts": PLAIN.replace(experts=Experts(4, 2, layers=(1,))),
    "relative": PLAIN.replace(relative_buckets=8, relative_max_distance=16, position="none", dropout=0.1),
}  # fmt: skip


def word_tokenizer() -> Tokenizer:
    backend = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(["[PAD]", "[CLS]", "[SEP]", "[MASK]"])
    backend.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return Tokenizer(backend, {"pad_token": "[PAD]", "mask_token": "[MASK]"})


def randomised(module: torch.nn.Module, seed: int) -> None:
    """Fill everything, gains and biases too, so that no weight is at its default."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.4)


def make(config: EncoderConfig = PLAIN, head: MLMHeadConfig | None = None, **fields) -> TextEncoder:
    model = dataclasses.replace(encoder.build(config, word_tokenizer(), seed=0, name="a small one"), **fields)
    randomised(model.encoder, 1)
    if head is None:
        return model
    mlm_head = MLMHead(config, head)
    randomised(mlm_head, 2)
    return dataclasses.replace(model, mlm_head=mlm_head)


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_what_is_saved_comes_back_to_the_last_bit(config: EncoderConfig, tmp_path: Path):
    model = make(config, MLMHeadConfig(activation="gelu_tanh", norm_eps=1e-5), pooling="cls", normalise=True)
    back = encoder.load(save(model, tmp_path / "saved"), device="cpu")
    assert back.config == config
    assert (back.name, back.pooling, back.normalise, back.max_embed_tokens) == ("a small one", "cls", True, None)
    text = "the cat [MASK] on a mat"
    assert torch.equal(back.trace(text).output, model.trace(text).output)
    assert torch.equal(back.embed([text, "a cat"]), model.embed([text, "a cat"]))
    assert back.predict_masked(back.trace(text), 4) == model.predict_masked(model.trace(text), 4)
    assert back.mlm_head.config == model.mlm_head.config
    assert all(parameter.requires_grad for parameter in back.encoder.parameters())


@pytest.mark.parametrize(
    "head",
    [
        MLMHeadConfig(tied=False),
        MLMHeadConfig(dense_bias=False, norm_bias=False, decoder_bias=False),
        MLMHeadConfig(activation="relu"),
    ],
    ids=["untied", "without biases", "relu"],
)
def test_every_kind_of_head_comes_back(head: MLMHeadConfig, tmp_path: Path):
    model = make(head=head)
    back = encoder.load(save(model, tmp_path / "saved"), device="cpu")
    trace = model.trace("a [MASK] sat [MASK]")
    assert back.predict_masked(trace, len(WORDS)) == model.predict_masked(trace, len(WORDS))


def test_a_model_without_a_head_stays_without_one(tmp_path: Path):
    back = encoder.load(save(make(), tmp_path / "saved"), device="cpu")
    assert back.mlm_head is None


def test_float16_on_disk_is_float32_in_memory(tmp_path: Path):
    model = make(head=MLMHeadConfig())
    folder = save(model, tmp_path / "saved", dtype="float16")
    assert {weight.dtype for weight in load_file(folder / "model.safetensors").values()} == {torch.float16}
    back = encoder.load(folder, device="cpu")
    for name, weight in back.encoder.state_dict().items():
        assert weight.dtype is torch.float32
        assert torch.equal(weight, model.encoder.state_dict()[name].half().float())


def test_a_number_beyond_float16_is_named_and_nothing_is_written(tmp_path: Path):
    model = make()
    with torch.no_grad():
        model.encoder.layers[1].ffn.w_in.weight[0, 0] = 70_000.0
    with pytest.raises(EncoderError, match=r"layers\.1\.ffn\.w_in\.weight reaches 70000\b.* 65504\b"):
        save(model, tmp_path / "saved", dtype="float16")
    assert list(tmp_path.iterdir()) == []


def test_saving_again_replaces_the_checkpoint_while_the_old_one_is_in_use(tmp_path: Path):
    first = make()
    folder = save(first, tmp_path / "saved")
    in_use = encoder.load(folder, device="cpu")
    second = make(PLAIN.replace(norm_placement="pre"))
    save(second, folder)
    assert torch.equal(in_use.trace("a cat").output, first.trace("a cat").output)
    assert encoder.load(folder, device="cpu").config.norm_placement == "pre"
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


def test_a_failed_save_leaves_the_old_checkpoint_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = save(make(), tmp_path / "saved")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(native.json, "dumps", full_disk)
    with pytest.raises(encoder.SaveError, match="No space left"):
        save(make(PLAIN.replace(norm_placement="pre")), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


@pytest.mark.parametrize("moment", ["before", "after"])
def test_ctrl_c_while_a_checkpoint_is_replaced_leaves_a_whole_one(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = save(make(), tmp_path / "saved")
    before = (folder / "config.json").read_bytes()
    rename = os.rename

    def interrupted(path: Path, target: Path) -> None:
        if path == folder and moment == "after":  # the old folder is away, the new one not yet there
            rename(path, target)
        if path == folder:
            monkeypatch.undo()
            raise KeyboardInterrupt
        rename(path, target)

    monkeypatch.setattr(whole_folders, "_renameat2", lambda: None)  # as on a system that cannot exchange two names
    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(make(PLAIN.replace(norm_placement="pre")), folder)
    assert (folder / "config.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["saved"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_saving_removes_no_pipe(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(EncoderError, match="pipe is a file"):
        save(make(), tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_that_is_cut_short_while_it_is_read(tmp_path: Path):
    folder = save(make(), tmp_path / "saved")
    files = WeightFiles(folder)
    os.truncate(folder / "model.safetensors", 2_000)
    with pytest.raises(LoadError, match="cut short"):
        [files.read(name) for name in files]  # a mapped file would end the process


def test_a_folder_that_is_replaced_while_it_is_read(tmp_path: Path):
    folder = save(first := make(), tmp_path / "saved")
    files = WeightFiles(folder)
    other = make(PLAIN.replace(d_ffn=40))
    with torch.no_grad():
        other.encoder.layers[0].attention.w_q.weight.zero_()
    save(other, folder)
    name = "layers.0.attention.w_q.weight"
    assert torch.equal(files.read(name), first.encoder.state_dict()[name])


def test_saving_never_overwrites_what_it_did_not_write(tmp_path: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("dear diary")
    with pytest.raises(EncoderError, match=r"notes .*another folder"):
        save(make(), tmp_path / "notes")
    with pytest.raises(EncoderError, match=r"diary\.txt is a file"):
        save(make(), tmp_path / "notes" / "diary.txt")
    assert (tmp_path / "notes" / "diary.txt").read_text() == "dear diary"
    (tmp_path / "empty").mkdir()
    assert encoder.load(save(make(), tmp_path / "empty"), device="cpu").config == PLAIN


def test_an_unknown_number_type_is_refused(tmp_path: Path):
    with pytest.raises(EncoderError, match=r"dtype='int8'.* float32, float16, bfloat16"):
        save(make(), tmp_path / "saved", dtype="int8")


# --- strict -----------------------------------------------------------------------------------------------------------


def change_fields(folder: Path, change) -> None:
    fields = json.loads((folder / "config.json").read_text())
    change(fields)
    (folder / "config.json").write_text(json.dumps(fields))


def change_weights(folder: Path, change) -> None:
    weights = {name: weight.clone() for name, weight in load_file(folder / "model.safetensors").items()}
    change(weights)
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f["encoder"].update(n_moons=3), "encoder .*field 'n_moons'"),
        (lambda f: f["encoder"].pop("d_model"), "encoder has no d_model"),
        (lambda f: f["encoder"].update(d_model="12"), r"encoder\.d_model='12'"),
        (lambda f: f["encoder"].update(n_layers=True), r"encoder\.n_layers=True"),
        (lambda f: f["encoder"].update(position="spiral"), r"encoder\.position='spiral'"),
        (lambda f: f["encoder"].update(rotary_base=["a"]), r"encoder\.rotary_base=\('a',\)"),
        (lambda f: f["encoder"].update(patches={"image_size": 8, "colour": 1}), "field 'colour'"),
        (lambda f: f["mlm_head"].update(activation=2), r"mlm_head\.activation=2"),
        (lambda f: f.update(encoder=None), "no object 'encoder'"),
        (lambda f: f.update(format=9), "format 9.* reads 1"),
        (lambda f: f.update(pooling="median"), "pooling='median'.* mean, cls, max"),
        (lambda f: f.update(normalise="false"), "normalise='false'"),
        (lambda f: f.update(name="x" * 300), "name=.* at most 200"),
        (lambda f: f["encoder"].update(norm_eps=10**400), r"encoder\.norm_eps=1000"),
        (lambda f: f["encoder"].update(rotary_base=10**400), r"encoder\.rotary_base=1000"),
    ],
)
def test_a_field_that_is_wrong_is_named(change, message: str, tmp_path: Path):
    folder = save(make(head=MLMHeadConfig()), tmp_path / "saved")
    change_fields(folder, change)
    with pytest.raises(LoadError, match=message):
        encoder.load(folder)


def test_a_field_that_came_later_takes_its_default(tmp_path: Path):
    folder = save(make(), tmp_path / "saved")
    change_fields(folder, lambda fields: fields["encoder"].pop("causal"))
    assert encoder.load(folder, device="cpu").config.causal is False


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda w: w.pop("layers.1.ffn.w_in.bias"), r"lacks the weight layers\.1\.ffn\.w_in\.bias"),
        (lambda w: w.pop("mlm_head.norm.weight"), r"lacks the weight mlm_head\.norm\.weight"),
        (lambda w: w.update(extra=torch.zeros(2)), "unknown weight .extra"),
        (lambda w: w.update({"x" * 100_000: torch.zeros(2)}), "unknown weight .{,300}$"),
        (lambda w: w.update({name: value.to(torch.int8) for name, value in w.items()}), "type I8.* F32"),
        (lambda w: w.update({name: value.to(torch.complex64) for name, value in w.items()}), "type C64.* F32"),
        (
            lambda w: w.update({"layers.0.attention.w_q.weight": torch.zeros(12, 7)}),
            r"layers\.0\.attention\.w_q\.weight .*\(12, 7\).*\(12, 12\)",
        ),
    ],
)
def test_a_weight_that_is_wrong_is_named(change, message: str, tmp_path: Path):
    folder = save(make(head=MLMHeadConfig()), tmp_path / "saved")
    change_weights(folder, change)
    with pytest.raises(LoadError, match=message):
        encoder.load(folder)


def test_patches_come_back_as_patches():
    fields = dataclasses.asdict(PLAIN.replace(patches=Patches(8, 4), vocab_size=0))
    assert json_fields.from_fields(EncoderConfig, json.loads(json.dumps(fields)), "encoder").patches == Patches(8, 4, 3)


# --- masked words -----------------------------------------------------------------------------------------------------


def test_masked_predictions_are_probabilities_over_the_whole_vocabulary():
    model = make(head=MLMHeadConfig())
    trace = model.trace("[MASK] cat sat [MASK]")
    predictions = model.predict_masked(trace, len(WORDS))
    assert [prediction.position for prediction in predictions] == [1, 4]
    for prediction in predictions:
        assert sorted(prediction.ids) == list(range(len(WORDS)))
        assert prediction.tokens == tuple(WORDS[i] for i in prediction.ids)
        assert sum(prediction.probabilities) == pytest.approx(1.0, abs=1e-6)
        assert list(prediction.probabilities) == sorted(prediction.probabilities, reverse=True)


def test_padding_is_never_predicted_and_changes_nothing():
    model = make(head=MLMHeadConfig())
    short, _ = model.trace_batch(["a [MASK]", "the cat sat on a mat"])
    (batched,), (alone,) = model.predict_masked(short, 3), model.predict_masked(model.trace("a [MASK]"), 3)
    assert (batched.position, batched.ids) == (alone.position, alone.ids)
    assert batched.probabilities == pytest.approx(alone.probabilities, abs=1e-6)


@pytest.mark.parametrize(
    ("head", "text", "k", "message"),
    [
        (None, "a [MASK]", 5, r"a small one\b.* masked-word head"),
        (MLMHeadConfig(), "a cat", 5, r"The text has no \[MASK\]"),
        (MLMHeadConfig(), "a [MASK]", 0, r"k=0\b.* 1 to 11"),
        (MLMHeadConfig(), "a [MASK]", 12, r"k=12\b.* 1 to 11"),
    ],
)
def test_what_cannot_be_predicted_is_said(head, text: str, k: int, message: str):
    model = make(head=head)
    with pytest.raises(EncoderError, match=message):
        model.predict_masked(model.trace(text), k)


def test_a_head_needs_words():
    with pytest.raises(EncoderError, match="vocab_size=0"):
        MLMHead(PLAIN.replace(vocab_size=0, patches=Patches(8, 4)))
