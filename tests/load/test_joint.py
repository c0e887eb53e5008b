"""JointEncoder: two towers, one space of vectors, saved as one folder."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

import encoder
from encoder import EncoderConfig, EncoderError, ImageEncoder, JointEncoder, LoadError
from encoder.encoders.image import Preparation
from encoder.model.config import Patches
from encoder.model.encoder import Encoder
from encoder.model.pooling import Dense, DenseConfig
from encoder.model.vector_head import VectorHead, VectorHeadConfig
from tests.load.test_native import PLAIN, make, randomised

HEADS = {
    "clip": VectorHeadConfig("cls", d_out=7),
    "siglip": VectorHeadConfig("attention", d_out=7, n_heads=2, d_ffn=9),
    "mean": VectorHeadConfig("mean", d_out=7),
}


def joint(kind: str = "clip", **fields) -> JointEncoder:
    """A small JointEncoder with random weights."""
    dense = Dense(DenseConfig(12, 7, bias=False, activation="none"))
    randomised(dense, 3)
    causal = PLAIN.replace(norm_placement="pre", embedding_norm=False, causal=True, activation="quick_gelu")
    text = make(causal, pooling="last", dense=(dense,))
    if kind == "siglip":
        text = dataclasses.replace(text, tokenizer=text.tokenizer.filled_to(9))
    patches = Patches(8, 4, 1, cls=kind == "clip", bias=kind != "clip")
    config = EncoderConfig(
        vocab_size=0,
        d_model=10,
        n_layers=2,
        n_heads=2,
        d_ffn=14,
        max_positions=5,
        norm_placement="pre",
        patches=patches,
    )
    tower, head = Encoder(config), VectorHead(10, HEADS[kind])
    randomised(tower, 4), randomised(head, 5)
    preparation = Preparation((0.5,), (0.5,))
    image = ImageEncoder("tower", tower, preparation=preparation, vector_head=head)
    compares = "sigmoid" if kind == "siglip" else "softmax"
    return JointEncoder("a pair", text, image, **{"scale": 14.3, "bias": -0.5, "compares": compares, **fields})


IMAGES = [torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(3)]
TEXTS = ["the cat", "a mat on the mat"]


@pytest.mark.parametrize("kind", HEADS)
def test_a_joint_encoder_comes_back_to_the_last_bit(kind: str, tmp_path: Path):
    model = joint(kind)
    back = encoder.load(encoder.save(model, tmp_path / "saved"), device="cpu")
    assert isinstance(back, JointEncoder)
    assert (back.name, back.scale, back.bias, back.compares) == ("a pair", 14.3, -0.5, model.compares)
    assert (back.text.name, back.image.name) == ("a pair (text)", "a pair (image)")
    assert back.text.config == model.text.config
    assert torch.equal(back.similarities(IMAGES, TEXTS), model.similarities(IMAGES, TEXTS))
    assert back.n_parameters == model.n_parameters
    half = encoder.load(encoder.save(model, tmp_path / "half", dtype="float16"), device="cpu")
    torch.testing.assert_close(half.embed_images(IMAGES), model.embed_images(IMAGES), atol=1e-2, rtol=0.0)


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_vectors_of_traces_are_those_of_inputs(kind: str):
    model = joint(kind)
    images, texts = model.embed_images(IMAGES), model.embed_texts(TEXTS)
    assert (images.shape, texts.shape) == ((3, 7), (2, 7))
    torch.testing.assert_close(images.norm(dim=-1), torch.ones(3))
    for vector, image in zip(images, IMAGES, strict=True):
        torch.testing.assert_close(model.image_vector(model.image.trace(image)), vector, atol=1e-6, rtol=0.0)
    for vector, text in zip(texts, TEXTS, strict=True):
        torch.testing.assert_close(model.text_vector(model.text.trace(text)), vector, atol=1e-6, rtol=0.0)
    logits = model.similarities(IMAGES, TEXTS)
    torch.testing.assert_close(logits, 14.3 * images @ texts.T - 0.5)
    expected = logits.sigmoid() if kind == "siglip" else logits.softmax(dim=1)
    torch.testing.assert_close(model.probabilities(IMAGES, TEXTS), expected)


@torch.no_grad()
def test_a_projected_token_is_the_vector_of_pooling_that_token_alone():
    model = joint("clip")
    image, text = model.image.trace(IMAGES[0]), model.text.trace(TEXTS[1])
    torch.testing.assert_close(model.projected_tokens(image)[0], model.image_vector(image), atol=1e-6, rtol=0.0)
    torch.testing.assert_close(model.projected_tokens(text)[-1], model.text_vector(text), atol=1e-6, rtol=0.0)
    pooling = joint("siglip")
    trace = pooling.image.trace(IMAGES[0])
    assert pooling.projected_tokens(trace).shape == (4, 7)
    alone = pooling.image.pool(trace.output[None, 2:3])[0]
    torch.testing.assert_close(pooling.projected_tokens(trace)[2], alone / alone.norm(), atol=1e-6, rtol=0.0)
    pattern = pooling.image.vector_head.attention.pattern(trace.output[None])
    torch.testing.assert_close(pattern.sum(-1), torch.ones(1, 2))


def test_a_causal_text_attends_to_no_later_token():
    trace = joint().text.trace(TEXTS[1])
    for layer in range(trace.config.n_layers):
        assert torch.equal(trace.layer_attention(layer).triu(1), torch.zeros(3, 7, 7))


def test_texts_are_filled_up_with_tokens_that_take_part():
    model = joint("siglip").text
    sentence = model.tokenize("the cat")
    assert sentence.tokens == ("[CLS]", "the", "cat", "[SEP]", *["[PAD]"] * 5)
    assert (sentence.special[4:], sentence.cut) == ((True,) * 5, False)
    trace = model.trace("the cat")
    assert trace.n_real == trace.n_tokens == 9
    assert model.tokenize("a " * 30).n_full == 32


def test_what_does_not_fit_together_is_said():
    wide = dataclasses.replace(joint().image, vector_head=VectorHead(10, VectorHeadConfig("cls", d_out=8)))
    with pytest.raises(EncoderError, match=r"7\b.*\b8"):
        JointEncoder("a pair", joint().text, wide)
    with pytest.raises(EncoderError, match="scale"):
        joint(scale=float("nan"))
    with pytest.raises(EncoderError, match="compares"):
        joint(compares="argmax")
    with pytest.raises(encoder.TextError, match=r"\[SEP\]"):
        joint().text.trace("the [SEP] cat")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"towers": {"text": {}}}, "towers"),
        ({"towers": {"text": [], "image": {}}}, "tower text"),
        ({"scale": "large"}, "scale"),
        ({"scale": float("inf")}, "scale"),
        ({"compares": "argmax"}, "compares"),
    ],
)
def test_a_folder_with_other_fields(change: dict, message: str, tmp_path: Path):
    path = encoder.save(joint(), tmp_path / "saved") / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(LoadError, match=message):
        encoder.load(tmp_path / "saved")


@pytest.mark.parametrize(
    ("tower", "change", "message"),
    [
        ("text", {"fill_to": 99}, "fill_to=99"),
        ("text", {"pooling": "attention"}, "pooling"),
        ("image", {"vector_head": {"pooling": "max"}}, "pooling='max'"),
        ("image", {"vector_head": {"pooling": "attention", "n_heads": 3}}, "n_heads=3"),
        ("image", {"vector_head": None}, "projections to one width"),
    ],
)
def test_a_tower_with_other_fields(tower: str, change: dict, message: str, tmp_path: Path):
    path = encoder.save(joint(), tmp_path / "saved") / "config.json"
    fields = json.loads(path.read_text())
    fields["towers"][tower] |= change
    path.write_text(json.dumps(fields))
    with pytest.raises(LoadError, match=message):
        encoder.load(tmp_path / "saved")


def test_each_input_goes_to_its_tower():
    model = joint()
    assert model.trace("the cat").kind == "text"
    assert torch.equal(model.trace(IMAGES[0]).output, model.image.trace(IMAGES[0]).output)
    many = model.probabilities(torch.stack(IMAGES), TEXTS)
    assert torch.equal(many, model.probabilities(IMAGES, TEXTS))
    for images, texts in ((IMAGES, "the cat"), (IMAGES[0], TEXTS)):
        with pytest.raises(EncoderError, match="lists"):
            model.probabilities(images, texts)
