"""Tokenizers of every kind that a page knows, and texts that are hard to split in the same way twice."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

import numpy as np
from tokenizers import AddedToken, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Backend

import encoder
from encoder.inputs.tokenizer import Tokenizer

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
#: Parts of the odd texts, by what is hard about them.
PARTS = {
    "words": ("the", "cat", "river", "unbelievably", "Transformer", "don't", "I'LL", "we've", "naïve", "Ünïcode"),
    "case": ("İstanbul", "ΑΣ ΣΑΣ", "ŞIŞ", "ẞ straße", "ǅ", "K"),
    "numbers": ("2,000", "12.5%", "1e-3", "½ Ⅷ ①", "٣٤٥", "१२३", "10km/h"),
    "marks": ("e\u0301te\u0301", "a\u0378b", "fi ﬁ ﬃ", "Å Å A\u030a", "क्षि", "กำ", "\u0644\u0627", "x\u0327\u0301"),
    "scripts": ("北京", "日本語テスト", "한국어", "\u1112\u1161\u11ab", "Привет", "שלום", "مرحبا", "𠀀𪚥", "ελληνικά"),
    "emoji": ("😀", "🤷🏽‍♀️", "👨‍👩‍👧", "🇩🇪", "☺️", "🥺"),
    "space": (" ", "  ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\u2028", "\u0085", "\u200b", "\ufeff"),
    "control": ("\x00", "\x07", "\u00ad", "\u200d", "\u202e", "\ufffd", "\ue000"),
    "signs": ("…", "—“”", "(x)", "a_b", "#tag", "@you", "$5", "^~`", "¿qué?", "«n»", "、。", "㎏", "™©", "a/b\\c"),
    "special": ("<mask>", "[MASK]", "<s>", "</s>", "[CLS]", "<MASK>", "<mask>s", " <mask> ", "▁", "▁▁a", "Ġ"),
    "long": ("a" * 120, "ab" * 60, "é" * 101, "!" * 30),
}  # fmt: skip
#: What the table of `precompiled` replaces: by its beginning, by a whole grapheme, by nothing.
REPLACED = {"ﬁ": "fi", "½": "1⁄2", "①": "1", "㎏": "kg", "Å": "Å", "e\u0301": "é", "\u00a0": " ", "\u3000": " ",
            "\t": " ", "\n": " ", "\u200b": "", "\ufeff": "", "™": "TM", "Ａ": "A", "…": "..."}  # fmt: skip


def odd_texts(count: int) -> list[str]:
    """Texts of 0 to 12 parts, always the same; some parts are any characters of Unicode."""
    rng = np.random.default_rng(7)
    kinds = list(PARTS)
    return ["".join(_parts(rng, kinds)) for _ in range(count)]


def _parts(rng: np.random.Generator, kinds: list[str]) -> Iterator[str]:
    for _ in range(int(rng.integers(0, 13))):
        if rng.random() < 0.2:
            yield _characters(rng)
        else:
            words = PARTS[kinds[int(rng.integers(len(kinds)))]]
            yield words[int(rng.integers(len(words)))]
        if rng.random() < 0.6:
            yield " "


def _characters(rng: np.random.Generator) -> str:
    """One to four characters near each other, so that some are of one script; no surrogates."""
    start = int(rng.choice([0x21, 0xA0, 0x300, 0x590, 0x900, 0xE00, 0x1100, 0x1E00, 0x2000, 0x3040, 0x4E00, 0xAC00,
                            0xFE00, 0x10300, 0x1D400, 0x1F300, 0x20000]))  # fmt: skip
    return "".join(chr(start + int(one)) for one in rng.integers(0, 0x100, size=int(rng.integers(1, 5))))


def tokenizers(sentences: list[str]) -> dict[str, Tokenizer]:
    """A tokenizer of each kind, the last three trained on the sentences."""
    return {
        "wordpiece": encoder.load("minilm", device="cpu").tokenizer,
        "bytes": made("bytes", sentences),
        "unigram": made("unigram", sentences),
        "precompiled": made("precompiled", sentences),
    }


def made(kind: str, sentences: list[str]) -> Tokenizer:
    """A trained tokenizer: "bytes" (RoBERTa's), "unigram", or "precompiled" (Unigram as XLM-R's)."""
    backend = Backend(models.BPE() if kind == "bytes" else models.Unigram())
    if kind == "bytes":
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=SPECIAL,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        first = precompiled(REPLACED) if kind == "precompiled" else normalizers.NFKC()
        backend.normalizer = normalizers.Sequence([first, normalizers.Replace("``", '"')])
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
        trainer = trainers.UnigramTrainer(
            vocab_size=200, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False
        )
    backend.train_from_iterator(sentences, trainer)
    backend.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])  # as RoBERTa and XLM-R have it
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return Tokenizer(backend, {"mask_token": "<mask>", "pad_token": "<pad>", "unk_token": "<unk>"})


def precompiled(replaced: Mapping[str, str]) -> normalizers.Precompiled:
    """SentencePiece's table of replacements: a double array over the bytes of what is replaced, and the texts."""
    texts, offsets = bytearray(), {}
    for key, text in replaced.items():
        offsets[key.encode()] = len(texts)
        texts += text.encode() + b"\0"
    units = _double_array(offsets)
    return normalizers.Precompiled(struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + bytes(texts))


def _double_array(values: Mapping[bytes, int]) -> list[int]:
    """The units of a trie (darts-clone): label in bits 0-7, end of a key in bit 8, offset to the children above."""
    units, used = [0] * 4096, {0}

    def place(at: int, beginning: bytes) -> None:
        ends = beginning in values
        labels = sorted({key[len(beginning)] for key in values if key.startswith(beginning) and key != beginning})
        children = ([0] if ends else []) + labels
        base = next(one for one in range(256, 4096) if not any((one ^ label) in used for label in children))
        used.update(base ^ label for label in children)
        units[at] |= (base ^ at) << 10 | ends << 8
        if ends:
            units[base] = 1 << 31 | values[beginning]
        for label in labels:
            units[base ^ label] = label
            place(base ^ label, beginning + bytes([label]))

    place(0, b"")
    return units
