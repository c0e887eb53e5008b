"""The text of a trace in pieces, and numbers as they are written."""

from __future__ import annotations

import pytest
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

import encoder
from encoder import EncoderConfig
from encoder.checkpoints.bundled import bundled_folder
from encoder.inputs.tokenizer import Tokenizer
from encoder.maps import aggregate
from encoder.measure.passage import passage
from tests.engine.conftest import tiny

TEXTS = ["the unhappy cat sat.", " the  cat\nsat !  ", "שלום the cat", "a", "", "🙂 dog", "un"]


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("pair", [None, "a dog ran, and  ran"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_are_the_text_as_typed(text: str, pair: str | None, words: bool) -> None:
    trace = tiny(n_segments=2).trace(text, pair)
    units, _ = aggregate.token_groups(trace, words=words)
    found = passage(trace, units)
    said = [unit for paragraph in found.paragraphs for _, unit in paragraph if unit >= 0]
    assert said == list(range(len(units)))
    for typed, paragraph in zip((text, pair), found.paragraphs, strict=False):
        own = "".join(piece for piece, unit in paragraph if unit not in found.special)
        assert own.strip() == typed.strip()
    assert [trace.tokens[units[unit][0]] for unit in found.special][:1] == ["[CLS]"]


#: Several tokens for one character, one token for several characters, and characters that a normaliser replaces.
FOREIGN = [
    "한국어 ok",
    "👩🏽‍🚀 ok 🙂",
    "ﬁne ① ½ …",
    "e\u0301té ẞ",
    "हिन्दी",
    "日本語　テスト",
    "a\t\tb\n\nc",
    "\u200bx\u00ad y",
]


def of_kind(kind: str) -> Tokenizer:
    """A tokenizer as a family of models has it, trained on a few words."""
    if kind == "word pieces":
        return Tokenizer.from_file(bundled_folder("minilm") / "tokenizer.json")
    words = ["the cat sat on the mat", "don't stop", "ok x y fine"] * 3
    if kind == "unigram":
        backend = tokenizers.Tokenizer(models.Unigram())
        backend.normalizer = normalizers.NFKC()
        backend.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=60, unk_token="<unk>", special_tokens=["<unk>"])
        backend.train_from_iterator(words, trainer)
        return Tokenizer(backend)
    backend = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>" if kind == "CLIP" else ""))
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]) if kind == "CLIP" else None
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind == "prefix")
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        end_of_word_suffix="</w>" if kind == "CLIP" else "",
    )
    backend.train_from_iterator(words, trainer)
    return Tokenizer(backend)


@pytest.mark.parametrize("kind", ["word pieces", "unigram", "bytes", "prefix", "CLIP"])
def test_the_pieces_are_the_text_as_typed_with_every_kind_of_tokenizer(kind: str) -> None:
    tokenizer = of_kind(kind)
    config = EncoderConfig(vocab_size=tokenizer.vocab_size, d_model=8, n_layers=1, n_heads=2, d_ffn=8)
    model, shared = encoder.build(config, tokenizer), 0
    for text in FOREIGN:
        trace = model.trace(text)
        for words in (False, True):
            units, _ = aggregate.token_groups(trace, words=words)
            found = passage(trace, units)
            own = "".join(piece for piece, unit in found.paragraphs[0] if unit not in found.special)
            assert own.strip() == text.strip(), f"{text!r}: {own!r}"
            shared += sum(not piece for piece, _ in found.paragraphs[0])
    assert shared > 0 or kind == "unigram", "some tokens share a character"


def test_a_word_of_several_pieces_is_one_unit_or_several() -> None:
    trace = tiny().trace("the unhappy cat")
    for words, expected in ((True, ["the", "unhappy", "cat"]), (False, ["the", "un", "happ", "y", "cat"])):
        units, _ = aggregate.token_groups(trace, words=words)
        found = passage(trace, units)
        assert [text for text, unit in found.paragraphs[0] if unit >= 0 and unit not in found.special] == expected


def test_cut_text_has_an_ellipsis() -> None:
    trace = tiny(max_positions=6).trace("the cat sat on a mat and a dog ran to a big red bus, the bank")
    units, _ = aggregate.token_groups(trace)
    (pieces,) = passage(trace, units).paragraphs
    texts = [text for text, _ in pieces]
    assert "".join(texts).endswith("the cat sat on … [SEP] ")
