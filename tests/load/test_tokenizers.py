"""Tokenizers built from vocabulary files only, against transformers' own; and how their tokens are shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from encoder import LoadError
from encoder.checkpoints.tokenizer import read_tokenizer
from encoder.inputs.tokenizer import Tokenizer

TEXTS = [
    "The cat sat on the mat.", "Unhappiness, unhappily!", "Café déjà-vu  ÀÉÎ", "中文 and English", "", " ", "a",
    "tab\tand\nnewline", "😀 emoji 👩‍👩‍👧", "naïve Straße İstanbul", "[MASK] of <mask> and  <mask>", "x" * 130,
    "עברית וגם العربية", "don't stop-me_now 3.14", "\u0000\ufffd control\u200b",
]  # fmt: skip
CORPUS = ["the cat sat on the mat", "unhappiness and happiness", "the café was déjà vu", "中文 don't stop", "of a cat"]


def read(folder: Path, model_type: str) -> Tokenizer:
    return read_tokenizer(folder, {"model_type": model_type}).tokenizer


def vocabulary(special: tuple[str, ...]) -> list[str]:
    """Word pieces that cover some of the texts whole, some in pieces and some not at all."""
    pieces = "the The cat sat on mat un ##happ ##iness ##ily happ cafe café dejavu deja a b ##a ##b Caf ##é and English"
    return [*special, *pieces.split(), "中", "文", ".", ",", "!", "-", "##s", "é", "don", "'", "t", "stop", "3"]


def write_word_pieces(folder: Path, special: tuple[str, ...], **settings: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary(special)) + "\n", encoding="utf-8")
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def write_byte_pairs(folder: Path, **settings: Any) -> None:
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokenizer.train_from_iterator(CORPUS, vocab_size=330, min_frequency=1, special_tokens=special, show_progress=False)
    folder.mkdir(exist_ok=True)
    tokenizer.save_model(str(folder))
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def same(ours: Tokenizer, theirs: Any) -> None:
    """The same ids and segments, for every text only and for pairs."""
    for text in TEXTS:
        assert list(ours.encode(text).ids) == theirs(text)["input_ids"], text
        assert ours.encode(text, "") == ours.encode(text), "an empty second sentence is none"
    for first, second in pairwise(text for text in TEXTS if text):  # "" is not a second sentence to transformers
        expected = theirs(first, second)
        pair = ours.encode(first, second)
        assert list(pair.ids) == expected["input_ids"]
        if "token_type_ids" in expected:
            assert list(pair.segments) == expected["token_type_ids"]
        else:
            assert set(pair.segments) == {0}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"do_lower_case": True},
        {"do_lower_case": False},
        {"do_lower_case": False, "strip_accents": True},
        {"do_lower_case": True, "strip_accents": False},
        {"tokenize_chinese_chars": False, "tokenizer_class": "BertTokenizerFast"},
    ],
    ids=str,
)
def test_vocab_txt(settings: dict[str, Any], tmp_path: Path):
    import transformers

    write_word_pieces(tmp_path, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), **settings)
    ours = read(tmp_path, "bert")
    known = {key: value for key, value in settings.items() if key != "tokenizer_class"}
    same(ours, transformers.BertTokenizer(vocab=str(tmp_path / "vocab.txt"), **known))
    assert (ours.pad_id, ours.mask_token, ours.mask_id) == (0, "[MASK]", 4)


def test_vocab_txt_of_mpnet(tmp_path: Path):
    import transformers

    write_word_pieces(tmp_path, ("<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"))
    ours = read(tmp_path, "mpnet")
    same(ours, transformers.MPNetTokenizer(vocab=str(tmp_path / "vocab.txt")))
    assert (ours.pad_id, ours.mask_token) == (1, "<mask>")


RESIDUES = ("<cls>", "<pad>", "<eos>", "<unk>", *"LAGVSERTIDPKQNFYMHWCXBUZO.-", "<null_1>", "<mask>")
PROTEINS = ("MKTAYIAKQR", "MK TA\tYI", "MK<mask>AY<mask>", "mkt", "MKJT J", "<cls>MK<eos>", "A.B-C", "<null_1>M", "héM")


@pytest.mark.parametrize("text", PROTEINS)
def test_esms_vocab_txt(text: str, tmp_path: Path):
    """The file that ESM-2's folders have; its class uses it even next to a tokenizer.json."""
    import transformers
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    (tmp_path / "vocab.txt").write_text("\n".join(RESIDUES), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "EsmTokenizer"}), encoding="utf-8")
    Backend(models.WordLevel({"M": 0, "<unk>": 1}, "<unk>")).save(str(tmp_path / "tokenizer.json"))
    theirs = transformers.EsmTokenizer(str(tmp_path / "vocab.txt"))
    ours = read(tmp_path, "esm")
    assert list(ours.encode(text).ids) == theirs(text)["input_ids"]
    assert list(ours.encode(text, "MA").ids) == theirs(text, "MA")["input_ids"]
    assert (ours.pad_id, ours.mask_id) == (theirs.pad_token_id, theirs.mask_token_id)


def test_clips_vocab_json_and_merges_txt(tmp_path: Path):
    import transformers
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, normalizers, pre_tokenizers, trainers

    backend = Backend(models.BPE(end_of_word_suffix="</w>"))
    backend.normalizer, backend.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.ByteLevel(False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        initial_alphabet=alphabet,
        end_of_word_suffix="</w>",
        show_progress=False,
        special_tokens=["<|startoftext|>", "<|endoftext|>"],
    )
    backend.train_from_iterator([*CORPUS, *TEXTS], trainer)
    backend.model.save(str(tmp_path))
    ours = read(tmp_path, "clip")
    theirs = transformers.CLIPTokenizer(vocab=str(tmp_path / "vocab.json"), merges=str(tmp_path / "merges.txt"))
    for text in [*TEXTS, "A PHOTO of 3 cats, isn't it?", "two  words<|endoftext|>more"]:
        assert list(ours.encode(text).ids) == theirs(text)["input_ids"], text
    assert ours.encode("The cat").labels == ("<|startoftext|>", "the", "c", "at", "<|endoftext|>")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "SquirrelTokenizer"}))
    with pytest.raises(LoadError, match="SquirrelTokenizer"):
        read(tmp_path, "clip")


def test_lines_that_end_as_on_windows(tmp_path: Path):
    (tmp_path / "vocab.txt").write_bytes(b"[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]\r\ncat\r\n")
    assert read(tmp_path, "bert").encode("cat").ids == (2, 5, 3)


@pytest.mark.parametrize("settings", [{}, {"add_prefix_space": True}, {"tokenizer_class": "RobertaTokenizer"}], ids=str)
def test_vocab_json_and_merges_txt(settings: dict[str, Any], tmp_path: Path):
    import transformers

    write_byte_pairs(tmp_path, **settings)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "roberta"}))
    ours = read(tmp_path, "roberta")
    same(ours, transformers.AutoTokenizer.from_pretrained(tmp_path))
    assert (ours.pad_id, ours.mask_token) == (1, "<mask>")


def test_tokens_added_afterwards(tmp_path: Path):
    special = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    write_word_pieces(tmp_path, special)
    size = len(vocabulary(special))
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[B]": size + 1, "[A]": size}))
    assert read(tmp_path, "bert").encode("[A] cat [B]").ids[1::2] == (size, size + 1)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[A]": size + 7}))
    with pytest.raises(LoadError, match=rf"'\[A\]' the id {size + 7}, which does not follow"):
        read(tmp_path, "bert")


def nothing(folder: Path) -> None:
    pass


def sentence_piece(folder: Path) -> None:
    (folder / "spiece.model").write_bytes(b"\n")


def japanese(folder: Path) -> None:
    write_word_pieces(folder, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), tokenizer_class="BertJapaneseTokenizer")


def without_mask(folder: Path) -> None:
    write_word_pieces(folder, ("[PAD]", "[UNK]", "[CLS]", "[SEP]"))


def unbasic(folder: Path) -> None:
    write_word_pieces(folder, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), do_basic_tokenize=False)


def broken_merges(folder: Path) -> None:
    write_byte_pairs(folder)
    (folder / "merges.txt").write_text("not a merge of anything\n")


def broken_json(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


def broken_special(folder: Path) -> None:
    without_mask(folder)
    (folder / "special_tokens_map.json").write_text("[]")


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (nothing, r"no tokenizer\.json\b.* vocab\.txt\b.* vocab\.json\b.* merges\.txt\b"),
        (sentence_piece, r"spiece\.model.*SentencePiece"),
        (japanese, r"tokenizer_class='BertJapaneseTokenizer'"),
        (without_mask, r"lacks its mask_token '\[MASK\]'"),
        (unbasic, "do_basic_tokenize=false"),
        (broken_merges, "The vocabulary .*tokenizer"),
        (broken_json, r"tokenizer\.json\b.* readable"),
        (broken_special, r"special_tokens_map\.json .* no JSON object"),
    ],
)
def test_what_cannot_be_read_is_named(prepare: Callable[[Path], None], message: str, tmp_path: Path):
    prepare(tmp_path)
    with pytest.raises(LoadError, match=message):
        read(tmp_path, "roberta" if prepare is broken_merges else "bert")


# --- how tokens are shown --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def byte_pairs(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("bpe")
    write_byte_pairs(folder)
    return read(folder, "roberta")


def test_byte_level_tokens_are_shown_as_the_characters_they_cover(byte_pairs: Tokenizer):
    shown = byte_pairs.encode("the cat déjà")
    assert shown.tokens[0] == shown.labels[0] == "<s>"
    assert "Ġcat" in shown.tokens
    assert shown.labels[1:3] == ("the", "cat")
    assert "".join(shown.labels[3:-1]) == "déjà"
    assert shown.offsets[1:3] == ((0, 3), (4, 7))


def test_a_part_of_a_character_shows_the_character_and_a_mark(byte_pairs: Tokenizer):
    shown = byte_pairs.encode("👩")  # four bytes, of which the vocabulary knows no pair
    assert len(shown) > 3
    assert set(shown.labels[1:-1]) == {"👩…"}


def test_white_space_is_seen(byte_pairs: Tokenizer):
    shown = byte_pairs.encode("a  \n\tb")
    assert not any(label.strip() == "" for label in shown.labels)
    assert not any("Ġ" in label or "Ċ" in label or "ĉ" in label for label in shown.labels)
    assert {"␣", "⏎", "⇥"} <= set("".join(shown.labels))


def test_words_are_counted_through_pieces(byte_pairs: Tokenizer):
    shown = byte_pairs.encode("the cat", "on a mat")
    words = [word for word in shown.words if word >= 0]
    assert max(words) == 4
    assert words == sorted(words)
    assert [shown.words[i] for i in range(len(shown)) if shown.special[i]] == [-1] * 4


def test_unigram_pieces_are_shown_without_their_mark():
    from tokenizers import Tokenizer as Backend
    from tokenizers import models, pre_tokenizers

    pieces = [("<unk>", 0.0), ("▁the", -1.0), ("▁c", -2.0), ("afé", -2.0), ("▁", -3.0), ("▁中文", -1.0)]
    backend = Backend(models.Unigram(pieces, unk_id=0))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    shown = Tokenizer(backend).encode("the café 中文")
    assert shown.tokens == ("▁the", "▁c", "afé", "▁中文")
    assert shown.labels == ("the", "c", "afé", "中文")


def test_word_pieces_keep_their_mark(tmp_path: Path):
    write_word_pieces(tmp_path, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))
    shown = read(tmp_path, "bert").encode("unhappiness 中")
    assert shown.labels == ("[CLS]", "un", "##happ", "##iness", "中", "[SEP]")
