"""Other kinds of models in the engine of the browser: random weights, and tokenizers trained on a few sentences."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import pre_tokenizers

import encoder
from encoder.encoders.text import TextEncoder, build
from encoder.errors import EncoderError
from encoder.inputs.tokenizer import Tokenizer
from encoder.live.packed import Bits, as_read, browser_model
from encoder.model.config import EncoderConfig
from encoder.model.pooling import Dense, DenseConfig
from encoder.model.rotary import RotaryScaling
from encoder.views.model_picture import model_picture
from tests.site.odd_texts import odd_texts, tokenizers
from tests.site.test_engine import close, in_browser, texts

ROTARY: dict[str, Any] = {"position": "rotary", "n_segments": 0}
NO_BIAS = {"attention_bias": False, "ffn_bias": False}
#: Fields of EncoderConfig, as the readers of checkpoints set them; those after the fourth are tried in slow tests.
KINDS: dict[str, dict[str, Any]] = {
    "modernbert": ROTARY
    | NO_BIAS
    | {
        "norm_placement": "pre",
        "first_norm": False,
        "norm_bias": False,
        "gated": True,
        "rotary_base": (160_000.0, 10_000.0, 10_000.0),
        "attention_window": (None, 3, 3),
    },
    "roberta": {"position_offset": 2, "pad_position": 1, "pad_id": 1, "max_positions": 130, "n_segments": 1},
    "mpnet": {"relative_buckets": 32, "position_offset": 2},
    "sentence": {"norm_placement": "pre", "activation": "gelu_tanh"},
    "electra": {"embedding_width": 16, "n_segments": 2},
    "xlm-r": {"position_offset": 2, "pad_position": 1, "pad_id": 1, "max_positions": 130, "n_segments": 1},
    "distilbert": {"activation": "relu"},
    "nomic": ROTARY | {"activation": "silu", "gated": True, "n_segments": 2} | NO_BIAS,
    "roformer": ROTARY | {"rotary_interleaved": True, "rotary_width": 4},
    "roformer's table": ROTARY | {"rotary_interleaved": True, "rotary_table": True},
    "yarn": ROTARY | {"rotary_scaling": RotaryScaling("yarn", 4.0, original=32, length=1.1)},
}
TOKENIZERS = {
    "roberta": "bytes",
    "mpnet": "unigram",
    "sentence": "wordpiece",
    "electra": "bytes",
    "xlm-r": "precompiled",
    "distilbert": "wordpiece",
    "modernbert": "bytes",
    "nomic": "wordpiece",
    "roformer": "wordpiece",
    "roformer's table": "wordpiece",
    "yarn": "precompiled",
}
FURTHER = [pytest.param(kind, marks=pytest.mark.slow("further kinds")) for kind in list(KINDS)[4:]]


def model_of(kind: str) -> TextEncoder:
    """A random encoder of a kind, with sharp attention."""
    tokenizer = tokenizers(texts(60))[TOKENIZERS[kind]]
    sizes = {"vocab_size": tokenizer.vocab_size, "d_model": 24, "n_layers": 3, "n_heads": 3, "d_ffn": 40}
    model = build(EncoderConfig(**{"max_positions": 128} | sizes | KINDS[kind]), tokenizer, seed=1)
    if kind == "sentence":
        maps = (Dense(DenseConfig(24, 12, activation="tanh")), Dense(DenseConfig(12, 8, bias=False)))
        model = dataclasses.replace(model, pooling="cls", dense=maps, normalise=True, truncate_dim=6)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for module in (model.encoder, *model.dense):
            for value in module.parameters():
                value.add_(torch.randn(value.shape, generator=generator) * 0.2)
        if model.encoder.rotary_table is not None:  # pairs about as long as they were
            model.encoder.rotary_table.weight.mul_(0.6)
    return model


NUMBERS = (
    "await Promise.all(given.texts.map(async (text) => { const { tokens, trace } = await model.read(text, {});"
    " return { ids: tokens.map(({ id }) => id), output: Array.from(trace.output),"
    " patterns: trace.layers.map(({ pattern }) => pattern.map((one) => Array.from(one))),"
    " stream: trace.layers.map(({ afterFfn }) => Array.from(afterFfn)),"
    " vector: Array.from(textVector(model.encoder, model.about, trace)) }; }))"
)


@pytest.mark.parametrize("bits", [16, pytest.param(8, marks=pytest.mark.slow("the same with other weights"))])
@pytest.mark.parametrize("kind", [*list(KINDS)[:4], *FURTHER])
def test_a_random_model_gives_the_numbers_and_ids_of_python(kind: str, bits: Bits, tmp_path: Path) -> None:
    """With 16 bits within 1e-3; with 8 bits those of the model whose weights are rounded in Python."""
    model, given = model_of(kind), [*texts(6), *odd_texts(20)]
    found = in_browser(model, NUMBERS, tmp_path, bits, texts=given)
    are_numbers_of(found, model, model if bits == 16 else as_read(model, bits), given)


def are_numbers_of(found: list[dict[str, Any]], model: TextEncoder, read: TextEncoder, given: list[str]) -> None:
    """Whether NUMBERS gave those of `read`, the model with the weights of the page."""
    for text, browser in zip(given, found, strict=True):
        trace = read.trace(text)
        assert browser["ids"] == list(model.tokenize(text).ids), repr(text)
        close(browser["output"], trace.output, 1e-3)
        close(browser["vector"], read.vector_of(trace), 1e-3)
        for layer in range(model.config.n_layers):
            close(browser["patterns"][layer], trace.layer_attention(layer), 1e-3)
            close(browser["stream"][layer], trace.values[f"layers.{layer}.after_ffn"], 1e-3)


def test_windows_rotation_and_a_missing_norm_are_in_the_picture_and_go_with_the_positions(tmp_path: Path) -> None:
    model, text = model_of("modernbert"), "the cat river banks the cat river banks"
    found = in_browser(
        model,
        "await Promise.all([0, 1].map(async (layer) => { const { tokens, trace } = await model.read(given.text, {});"
        " const place = { layer, head: 1, query: 2, key: 3 };"
        " const { header, arrays } = modelPicture(model, trace, tokens.map(({ label }) => label), place, {});"
        " const chosen = { component: 3, neuron: null, classes: [] };"
        " const { parts, arrays: shown } = partsOf(model, trace, tokens, place, chosen);"
        " const straight = await model.read(given.text, { noPositions: true });"
        " return { header, q: Array.from(arrays.q.data), parts: Object.keys(parts),"
        " query: Array.from(shown[parts.q.strips[1].array].data), output: Array.from(straight.trace.output) }; }))",
        tmp_path,
        text=text,
    )
    trace = model.trace(text)
    for layer, browser in enumerate(found):
        picture = model_picture(trace, layer, 1, 2, 3, pooling=model.pooling)
        for name in ("norms", "sees", "stages", "heads"):
            assert browser["header"][name] == picture.header[name], name
        close(browser["q"], torch.tensor(picture.arrays["q"]), 1e-3)
        close(browser["query"], trace.layer_qkv(layer)[0][1, 2], 1e-3)
        assert ("norm-attention" in browser["parts"]) == (layer > 0)
        close(browser["output"], model.trace(text, edits=[encoder.edits.DropPositions()]).output, 1e-3)


@pytest.mark.parametrize("kind", ["yarn", "roformer's table"])
def test_without_positions_all_tokens_rotate_as_the_first(kind: str, tmp_path: Path) -> None:
    model, text = model_of(kind), "the cat river banks"
    found = in_browser(
        model, "Array.from((await model.read(given.text, { noPositions: true })).trace.output)", tmp_path, text=text
    )
    close(found, model.trace(text, edits=[encoder.edits.DropPositions()]).output, 1e-3)


def test_what_the_engine_lacks_is_refused_by_name() -> None:
    model = encoder.load("twin-pre", device="cpu")
    assert isinstance(model, TextEncoder)
    sizes = {"vocab_size": model.tokenizer.vocab_size, "d_model": 24, "n_layers": 1, "n_heads": 2, "d_ffn": 20}
    for fields, word in (
        ({"position": "alibi"}, "alibi"),
        ({"norm_kind": "rms"}, "RMSNorm"),
        ({"causal": True}, "causal"),
    ):
        with pytest.raises(EncoderError, match=word):
            browser_model(build(EncoderConfig(**sizes, **fields), model.tokenizer))
    backend = Backend.from_str(model.tokenizer.backend.to_str())
    backend.pre_tokenizer = pre_tokenizers.Digits()
    with pytest.raises(EncoderError, match="Digits"):
        browser_model(build(EncoderConfig(**sizes), Tokenizer(backend)))


@pytest.mark.parametrize("kind", ["roberta", "sentence", pytest.param("modernbert", marks=pytest.mark.slow("another"))])
def test_words_have_the_effect_on_a_cosine_that_python_finds(kind: str, tmp_path: Path) -> None:
    """With a prompt before the texts, or the first, whose words stay."""
    prompts = {"query" if kind == "sentence" else "plain": "the naïve cat: "}
    model = dataclasses.replace(
        model_of(kind), prompts=prompts, default_prompt=next(iter(prompts)), pools_prompt=kind != "roberta"
    )
    pairs = [["the cat (x) don't", "the river, banks 2,000 the cat"], ["cat river", "北京 cat —"], ["a", "river"]]
    found = in_browser(
        model,
        "await Promise.all(given.pairs.map((pair) => similarity(model, pair, {})))",
        tmp_path,
        pairs=pairs,
    )
    for pair, browser in zip(pairs, found, strict=True):
        ours = encoder.explain_score(model, *pair)
        assert abs(browser["cosine"] - ours.score) < 1e-3
        for side, words in zip(browser["sides"], (ours.words_a, ours.words_b), strict=True):
            assert [word for word, _ in side["words"]] == [one.word for one in words]
            close([effect for _, effect in side["words"]], torch.tensor([one.effect for one in words]), 1e-3)


def test_words_that_are_not_shown_are_not_tokenized(tmp_path: Path) -> None:
    """Neither those beyond the model's tokens, nor those of a text with too many words."""
    cut, long = in_browser(
        model_of("roberta"),
        "await (async () => { let count = 0; const { tokenizer } = model; const whole = tokenizer.tokens;"
        " tokenizer.tokens = (...given) => (count++, whole.apply(tokenizer, given)); const found = [];"
        " for (const text of given.texts) { count = 0; const { sides } = await similarity(model, [text, 'a'], {});"
        " found.push({ count, ...sides[0] }); } return found; })()",
        tmp_path,
        texts=["a b " * 500, "cat the " * 500],
    )
    assert (cut["isLong"], long["isLong"]) == (False, True)
    assert max(cut["count"], long["count"]) < 100
