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
from tests.site.odd_texts import odd_texts, tokenizers
from tests.site.test_engine import close, in_browser, texts

#: Fields of EncoderConfig, as the readers of checkpoints set them; those after the third are tried in slow tests.
KINDS: dict[str, dict[str, Any]] = {
    "roberta": {"position_offset": 2, "pad_position": 1, "pad_id": 1, "max_positions": 130, "n_segments": 1},
    "mpnet": {"relative_buckets": 32, "position_offset": 2},
    "sentence": {"norm_placement": "pre", "activation": "gelu_tanh"},
    "electra": {"embedding_width": 16, "n_segments": 2},
    "xlm-r": {"position_offset": 2, "pad_position": 1, "pad_id": 1, "max_positions": 130, "n_segments": 1},
    "distilbert": {"activation": "relu"},
}
TOKENIZERS = {
    "roberta": "bytes",
    "mpnet": "unigram",
    "sentence": "wordpiece",
    "electra": "bytes",
    "xlm-r": "precompiled",
    "distilbert": "wordpiece",
}
FURTHER = [pytest.param(kind, marks=pytest.mark.slow("further kinds")) for kind in list(KINDS)[3:]]


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
    return model


NUMBERS = (
    "await Promise.all(given.texts.map(async (text) => { const { tokens, trace } = await model.read(text, {});"
    " return { ids: tokens.map(({ id }) => id), output: Array.from(trace.output),"
    " patterns: trace.layers.map(({ pattern }) => pattern.map((one) => Array.from(one))),"
    " stream: trace.layers.map(({ afterFfn }) => Array.from(afterFfn)),"
    " vector: Array.from(textVector(model.encoder, model.about, trace)) }; }))"
)


@pytest.mark.parametrize("bits", [16, pytest.param(8, marks=pytest.mark.slow("the same with other weights"))])
@pytest.mark.parametrize("kind", [*list(KINDS)[:3], *FURTHER])
def test_a_random_model_gives_the_numbers_and_ids_of_python(kind: str, bits: Bits, tmp_path: Path) -> None:
    """With 16 bits within 1e-3; with 8 bits those of the model whose weights are rounded in Python."""
    model, given = model_of(kind), [*texts(6), *odd_texts(20)]
    found = in_browser(model, NUMBERS, tmp_path, bits, texts=given)
    read = model if bits == 16 else as_read(model, bits)
    for text, browser in zip(given, found, strict=True):
        trace = read.trace(text)
        assert browser["ids"] == list(model.tokenize(text).ids), repr(text)
        close(browser["output"], trace.output, 1e-3)
        close(browser["vector"], read.vector_of(trace), 1e-3)
        for layer in range(model.config.n_layers):
            close(browser["patterns"][layer], trace.layer_attention(layer), 1e-3)
            close(browser["stream"][layer], trace.values[f"layers.{layer}.after_ffn"], 1e-3)


def test_what_the_engine_lacks_is_refused_by_name() -> None:
    model = encoder.load("twin-pre", device="cpu")
    assert isinstance(model, TextEncoder)
    sizes = {"vocab_size": model.tokenizer.vocab_size, "d_model": 24, "n_layers": 1, "n_heads": 2, "d_ffn": 20}
    for fields, word in (
        ({"position": "rotary"}, "rotary"),
        ({"norm_kind": "rms"}, "RMSNorm"),
        ({"causal": True}, "causal"),
    ):
        with pytest.raises(EncoderError, match=word):
            browser_model(build(EncoderConfig(**sizes, **fields), model.tokenizer))
    backend = Backend.from_str(model.tokenizer.backend.to_str())
    backend.pre_tokenizer = pre_tokenizers.Digits()
    with pytest.raises(EncoderError, match="Digits"):
        browser_model(build(EncoderConfig(**sizes), Tokenizer(backend)))
