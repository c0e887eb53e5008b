"""Other kinds of models in the engine of the browser: random weights, and tokenizers trained on a few sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers, processors, trainers

import encoder
from encoder.encoders.text import TextEncoder, build
from encoder.errors import EncoderError
from encoder.inputs.tokenizer import Tokenizer
from encoder.live.packed import browser_model
from encoder.model.config import EncoderConfig
from tests.site.test_engine import FIFTY, close, in_browser, texts

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
ODD = ["", " ", "a  b", "İstanbul ΑΣ", "🥺 🤷🏽‍♀️", "x\u2028y\u0085z", "<mask> and<s>", "don't 'll 12,5", "ﬁ Å e\u0301",
       "한국", "\u00a0nbsp\u3000wide", "a\u0378b\u200bc\ufeffd", "\ud800 lone", "tab\t\n\r\n", "…—“”",
       "Ⅷ ½ ①"]  # fmt: skip
KINDS = {
    "roberta": {"position_offset": 2, "pad_position": 1, "pad_id": 1, "max_positions": 130, "n_segments": 1},
    "mpnet": {"relative_buckets": 32, "position_offset": 2},
    "electra": {"embedding_width": 16, "n_segments": 2},
}


def tokenizer(kind: str) -> Tokenizer:
    """A trained tokenizer: "bytes" (BPE) or "unigram"."""
    words = texts(60)
    if kind == "bytes":
        backend = Backend(models.BPE())
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
        )
    else:
        backend = Backend(models.Unigram())
        backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("``", '"')])
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
        trainer = trainers.UnigramTrainer(
            vocab_size=200, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
        )
    backend.train_from_iterator(words, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return Tokenizer(backend, {"mask_token": "<mask>", "pad_token": "<pad>", "unk_token": "<unk>"})


def model_of(kind: str, splits: str) -> TextEncoder:
    """A random encoder of a kind, with sharp attention."""
    made = tokenizer(splits)
    sizes = {"vocab_size": made.vocab_size, "d_model": 24, "n_layers": 3, "n_heads": 3, "d_ffn": 40}
    model = build(EncoderConfig(**sizes, **KINDS[kind]), made, seed=1)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for value in model.encoder.parameters():
            value.add_(torch.randn(value.shape, generator=generator) * 0.2)
    return model


@pytest.mark.parametrize(("kind", "splits"), [("roberta", "bytes"), ("mpnet", "unigram"), ("electra", "bytes")])
def test_a_random_model_gives_the_numbers_and_ids_of_python(kind: str, splits: str, tmp_path: Path) -> None:
    model, given = model_of(kind, splits), [*texts(6), *ODD]
    found = in_browser(model, FIFTY, tmp_path, texts=[one.encode("utf-8", "replace").decode() for one in given])
    for text, browser in zip(given, found, strict=True):
        assert browser["ids"] == list(model.tokenize(text).ids), repr(text)
        trace = model.trace(text)
        close(browser["output"], trace.output, 1e-3)
        close(browser["pattern"], trace.layer_attention(2), 1e-3)


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
