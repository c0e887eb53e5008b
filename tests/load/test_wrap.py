"""A live model is wrapped: the same numbers as from its files, over the same memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import encoder
from encoder import LoadError, causal, edits, export
from encoder.measure import heads
from tests.load import every_family, joints, reference, sounds
from tests.load.reference import FAMILIES, sentence

pytestmark = pytest.mark.sample(3, "another checkpoint")

TEXTS = [sentence(3), sentence(12, seed=1), sentence(7, seed=2)]
PIXELS = np.random.default_rng(0).integers(0, 256, (24, 24, 3), dtype=np.uint8)


def fast_tokenizer(folder: Path) -> Any:
    import transformers

    special = json.loads((folder / "special_tokens_map.json").read_text(encoding="utf-8"))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **special,
    )


def places(module: nn.Module) -> set[int]:
    return {value.untyped_storage().data_ptr() for value in module.state_dict().values()}


def copied(ours: Any, theirs: nn.Module) -> list[str]:
    """The weights of a wrapped encoder that are not in the memory of the model."""
    there = places(theirs)
    return [
        name for name, value in ours.encoder.state_dict().items() if value.untyped_storage().data_ptr() not in there
    ]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("head", ["Model", "ForMaskedLM", "ForSequenceClassification"])
def test_each_family_of_text_shares_all_its_weights(family: str, head: str, checkpoint: Callable):
    pair = checkpoint(family, head)
    ours = encoder.wrap(pair.theirs, fast_tokenizer(pair.folder))
    for text in TEXTS:
        mine, loaded = ours.trace(text), pair.ours.trace(text)
        assert torch.equal(mine.output, loaded.output)
        assert mine.tokens == loaded.tokens
    assert copied(ours, pair.theirs) == []
    assert not any("Copied" in note for note in ours.notes)
    for name, module in ours.heads.items():
        assert places(module) <= places(pair.theirs), name
    assert set(ours.heads) == set(pair.ours.heads)
    assert all(value.requires_grad for value in pair.theirs.parameters())


def test_the_encoder_follows_what_training_does_to_the_model(checkpoint: Callable):
    pair = checkpoint("bert", "ForMaskedLM", n_layers=1)
    theirs = reference.model_of("bert", "ForMaskedLM", 1, seed=7)
    ours = encoder.wrap(theirs, fast_tokenizer(pair.folder))
    before = ours.trace(TEXTS[0]).output
    step = torch.optim.SGD(theirs.parameters(), lr=0.5)
    theirs.train()
    theirs(input_ids=torch.tensor([[2, 17, 5, 3]]), labels=torch.tensor([[2, 17, 5, 3]])).loss.backward()
    step.step()
    after = ours.trace(TEXTS[0])
    assert not torch.equal(before, after.output)
    expected = theirs.eval()(input_ids=torch.tensor([after.ids]), output_hidden_states=True).hidden_states[-1][0]
    torch.testing.assert_close(after.output, expected.detach(), atol=1e-5, rtol=0.0)


def test_edits_effects_measures_and_export_work_on_it(checkpoint: Callable, tmp_path: Path):
    pair = checkpoint("bert", "ForMaskedLM")
    ours = encoder.wrap(pair.theirs, fast_tokenizer(pair.folder))
    text, off = TEXTS[1], (edits.AblateHead(layer=1, head=2),)
    assert torch.equal(ours.trace(text, edits=off).output, pair.ours.trace(text, edits=off).output)
    assert not torch.equal(ours.trace(text, edits=off).output, ours.trace(text).output)
    masked = text.replace(text.split()[2], "[MASK]", 1)
    effects = [causal.ablate_each_head(one, masked) for one in (ours, pair.ours)]
    assert torch.equal(*effects)
    mine, loaded = (heads(one.trace(text)) for one in (ours, pair.ours))
    assert np.array_equal(mine.values["entropy"], loaded.values["entropy"])
    assert export.map(ours.trace(text), 0, 2).frame().equals(export.map(pair.ours.trace(text), 0, 2).frame())
    again = encoder.load(encoder.save(ours, tmp_path / "saved"), device="cpu")
    assert torch.equal(again.trace(text).output, ours.trace(text).output)


def test_images_sounds_and_pairs_are_wrapped_with_their_processor(tmp_path: Path):
    import transformers

    vit = reference.vit_of("ForImageClassification", 2)
    size = {"height": 24, "width": 24}
    ours = encoder.wrap(vit, transformers.ViTImageProcessor(size=size, image_mean=[0.1, 0.2, 0.3]))
    given = ours.trace(PIXELS)
    expected = vit.vit(ours.prepare(PIXELS)[None]).last_hidden_state[0]
    torch.testing.assert_close(given.output, expected.detach(), atol=1e-5, rtol=0.0)
    assert ours.preparation.mean == (0.1, 0.2, 0.3)
    assert copied(ours, vit) == []

    ast = sounds.model_of("ast", "Model", 2)
    heard = encoder.wrap(ast, transformers.ASTFeatureExtractor(num_mel_bins=48, max_length=64))
    assert heard.takes == "sound"
    assert copied(heard, ast) == []

    clip = joints.model_of("clip")
    joints.write(clip, tmp_path, "clip")
    loaded = encoder.load(tmp_path)
    wrapped = encoder.wrap(clip, fast_tokenizer(tmp_path))
    assert torch.equal(wrapped.embed_texts(joints.TEXTS), loaded.embed_texts(joints.TEXTS))
    assert copied(wrapped.text, clip) == []
    assert copied(wrapped.image, clip) == []


def test_a_weight_of_another_layout_is_copied_and_named():
    import transformers

    theirs = reference.image_model_of("Dinov2", "Model", 2)  # its layer scale is multiplied into a map
    ours = encoder.wrap(theirs, transformers.BitImageProcessor())
    names = copied(ours, theirs)
    assert names
    assert all(name.rpartition(".")[0].endswith(("w_o", "w_out")) for name in names)
    assert any(names[0] in note and f" {len(names)} of " in note for note in ours.notes)


TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


@pytest.mark.parametrize("live", TYPES)
@pytest.mark.parametrize("saved", [torch.float32, torch.float16, torch.bfloat16])
def test_the_number_type_is_that_of_the_live_weights(
    saved: torch.dtype, live: torch.dtype, checkpoint: Callable, tmp_path: Path
):
    """Whatever config.dtype says, which is the type that the model was loaded in."""
    import transformers

    pair = checkpoint("bert", n_layers=1)
    reference.model_of("bert", "Model", 1).to(saved).save_pretrained(tmp_path)
    loaded = transformers.AutoModel.from_pretrained(tmp_path).to(live).eval()
    ours = encoder.wrap(loaded, fast_tokenizer(pair.folder))
    kept = live in (torch.float32, torch.bfloat16)
    assert ours.encoder.dtype is (live if kept else torch.float32)
    assert bool(copied(ours, loaded)) is not kept
    trace = ours.trace(TEXTS[0])
    with torch.no_grad():
        expected = loaded(input_ids=torch.tensor([trace.ids])).last_hidden_state[0].float()
    atol = {torch.float32: 1e-5, torch.float64: 1e-5}.get(live, 0.1)
    torch.testing.assert_close(trace.output.float(), expected, atol=atol, rtol=0.0)


@pytest.mark.parametrize("live", [torch.float16, torch.float64])
def test_images_and_a_decoder_in_another_number_type(live: torch.dtype, tmp_path: Path):
    import transformers

    vit = reference.vit_of("Model", 1).to(live)
    size = {"height": 24, "width": 24}
    ours = encoder.wrap(vit, transformers.ViTImageProcessor(size=size))
    assert ours.trace(PIXELS).output.dtype is torch.float32

    case = every_family.ALL["t5"]
    folder = every_family.write(case, case.make(), tmp_path / "t5")
    loaded = encoder.load(folder, device="cpu").trace(TEXTS[0]).output
    wrapped = encoder.wrap(case.make().to(live), fast_tokenizer(folder)).trace(TEXTS[0]).output
    torch.testing.assert_close(wrapped, loaded, atol=0.1, rtol=0.0)


def sentence_model(folder: Path, *more: Any) -> Any:
    import sentence_transformers
    from sentence_transformers.models import Pooling, Transformer

    first = Transformer(str(folder))
    return sentence_transformers.SentenceTransformer(modules=[first, Pooling(40, "cls"), *more], device="cpu")


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_sentence_transformers_brings_its_own_tokenizer_and_steps(checkpoint: Callable):
    from sentence_transformers.models import Dense, Normalize

    theirs = sentence_model(checkpoint("bert").folder, Dense(40, 7), Normalize())
    ours = encoder.wrap(theirs)
    torch.testing.assert_close(ours.embed(TEXTS), theirs.encode(TEXTS, convert_to_tensor=True), atol=1e-5, rtol=0.0)
    assert copied(ours, theirs) == []
    assert places(ours.dense[0]) <= places(theirs)
    half = encoder.wrap(theirs.half())
    torch.testing.assert_close(half.embed(TEXTS), ours.embed(TEXTS), atol=0.02, rtol=0.0)


def test_what_cannot_be_wrapped_says_what_to_do(checkpoint: Callable):
    pair = checkpoint("bert", n_layers=1)
    tokenizer = fast_tokenizer(pair.folder)
    with pytest.raises(LoadError, match=r"encoder\.wrap"):
        encoder.load(pair.theirs)
    with pytest.raises(LoadError, match=r"encoder\.attentions"):
        encoder.wrap(nn.Linear(2, 2), tokenizer)
    with pytest.raises(LoadError, match="tokenizer"):
        encoder.wrap(pair.theirs)
    with pytest.raises(LoadError, match="load"):
        encoder.wrap("minilm", tokenizer)
    with pytest.raises(LoadError, match=r"model\.module"):
        encoder.wrap(nn.DataParallel(pair.theirs), tokenizer)
    import transformers

    config = transformers.FNetConfig(vocab_size=99, hidden_size=40, num_hidden_layers=1, intermediate_size=52)
    with pytest.raises(LoadError, match=r"fnet.*encoder\.attentions"):
        encoder.wrap(transformers.FNetModel(config), tokenizer)


@pytest.mark.slow("opens a model in another process")
def test_wrapping_imports_neither_library():
    import subprocess
    import sys

    code = (
        "import sys, encoder\n"
        "try: encoder.wrap(object(), None)\n"
        "except encoder.LoadError: pass\n"
        "print([name for name in ('transformers', 'sentence_transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["mixtral", "qwen3_moe"])
def test_experts_in_memory_are_those_on_disk(name: str, tmp_path: Path):
    case = every_family.ALL[name]
    theirs = case.make()
    folder = every_family.write(case, theirs, tmp_path / "model")
    ours, loaded = encoder.wrap(theirs, fast_tokenizer(folder)), encoder.load(folder, device="cpu")
    for key, value in loaded.encoder.state_dict().items():
        assert torch.equal(value, ours.encoder.state_dict()[key]), key
    assert any("Copied" in note and "ffn.w_in" in note for note in ours.notes)
