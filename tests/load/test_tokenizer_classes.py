"""The class of a tokenizer and every setting that it follows: the same ids and segments as transformers gives."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import encoder
from encoder import LoadError
from encoder.checkpoints.families import FAMILIES, JOINTS
from encoder.checkpoints.tokenizer import ReadTokenizer, read_tokenizer
from encoder.checkpoints.tokenizer_classes import AS_SAVED, CLASSES
from encoder.checkpoints.tokenizer_names import FOLLOWS_MODEL, OF_MODELS, OTHERS
from tests.load import folders
from tests.load.folders import SPECIAL, VOCAB, edit, put

TEXTS = [
    "the Cat sat on the mat .",
    "café, the [MASK] cats !",
    "Hello  world",
    "isn't the cat's 12",
    "中文 the",
    "a",
    " ",
]
LETTERS = sorted(set("abcdefghijklmnopqrstuvwxyzTHĠ.'"))
PIECES = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁the", -2.0), ("▁c", -3.0), ("at", -3.0)]
PIECES += [(one, -5.0) for one in "▁thecasonmHW.,!é"] + [
    ("<mask>", 0.0),
    ("[CLS]", 0.0),
    ("[SEP]", 0.0),
    ("[MASK]", 0.0),
]


def read(folder: Path) -> ReadTokenizer:
    return read_tokenizer(folder, json.loads((folder / "config.json").read_text(encoding="utf-8")))


def check(folder: Path) -> tuple[str, ...]:
    """The same ids and segments as in transformers; the notes."""
    import transformers

    theirs, ours = transformers.AutoTokenizer.from_pretrained(folder), read(folder)
    for text in TEXTS:
        assert list(ours.tokenizer.encode(text).ids) == theirs(text)["input_ids"], text
    for first, second in pairwise(TEXTS):
        expected, pair = theirs(first, second), ours.tokenizer.encode(first, second)
        assert list(pair.ids) == expected["input_ids"]
        assert list(pair.segments) == expected.get("token_type_ids", [0] * len(pair))
    return ours.notes


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """BERT's tokenizer as transformers writes it."""
    import transformers

    words = {word: index for index, word in enumerate([*VOCAB, "中", "文", "'", "s", "isn", "t"])}
    transformers.BertTokenizer(vocab=words).save_pretrained(tmp_path)
    put(tmp_path / "config.json", {"model_type": "bert"})
    return tmp_path


def test_what_transformers_saves_has_no_note(saved: Path):
    assert check(saved) == ()


SETTINGS: list[dict[str, Any]] = [
    {"do_lower_case": False},
    {"strip_accents": False},
    {"tokenize_chinese_chars": False},
    {"sep_token": "[MASK]"},
    {"unk_token": "[PAD]"},
    {"mask_token": "<new>"},
    {"added_tokens_decoder": {"5": {"content": "the", "special": True}}},
    {"extra_special_tokens": ["cat"]},
    {"additional_special_tokens": ["sat"]},
    {"image_token": "on"},
    {"split_special_tokens": True},
    {"add_bos_token": True},
    {"model_input_names": ["input_ids", "attention_mask"]},
    {"tokenizer_class": "DistilBertTokenizer"},
    {"tokenizer_class": "ElectraTokenizerFast"},
    {"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": False},
    {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": ["input_ids", "token_type_ids"]},
    {"tokenizer_class": "MPNetTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]"},
    {"tokenizer_class": "OfNobody"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_settings_of_tokenizer_config(settings: dict[str, Any], saved: Path):
    edit(saved / "tokenizer_config.json", **settings)
    check(saved)


@pytest.mark.parametrize("settings", SETTINGS[:4], ids=str)
def test_a_tokenizer_json_that_the_class_does_not_use_is_a_note(settings: dict[str, Any], saved: Path):
    edit(saved / "tokenizer_config.json", **settings)
    (note,) = check(saved)
    assert "tokenizer.json" in note
    assert "BertTokenizer" in note


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"do_lower_case": "no"}, "do_lower_case='no'"),
        ({"added_tokens_decoder": {"7": "w"}}, "added_tokens_decoder"),
        ({"added_tokens_decoder": 3}, "added_tokens_decoder=3"),
        ({"cls_token": None}, "BertTokenizer"),
        ({"truncation_side": "top"}, "truncation_side='top'"),
        ({"model_input_names": 3}, "model_input_names=3"),
        ({"tokenizer_class": 3}, "tokenizer_class=3"),
    ],
)
def test_settings_of_another_form_are_refused_by_name(settings: dict[str, Any], named: str, saved: Path):
    edit(saved / "tokenizer_config.json", **settings)
    with pytest.raises(LoadError, match=named):
        read(saved)


@pytest.mark.parametrize("name", ["RobertaTokenizer", "XLMRobertaTokenizer", "NllbTokenizer", "EsmTokenizer"])
def test_a_class_of_another_vocabulary_is_a_note(name: str, saved: Path):
    edit(saved / "tokenizer_config.json", tokenizer_class=name)
    assert any(name in note for note in read(saved).notes)


def test_special_tokens_map_counts_without_added_tokens_decoder_only(saved: Path):
    put(saved / "special_tokens_map.json", {"sep_token": "[MASK]", "mask_token": {"content": "[SEP]", "lstrip": True}})
    check(saved)
    added = {str(index): {"content": one, "special": True} for index, one in enumerate(SPECIAL)}
    edit(saved / "tokenizer_config.json", added_tokens_decoder=added)
    check(saved)
    assert read(saved).tokenizer.encode("cat").tokens[-1] == "[SEP]"


def test_the_class_may_be_in_config_json(saved: Path):
    edit(saved / "tokenizer_config.json", tokenizer_class=None)
    put(saved / "config.json", {"model_type": "bert", "tokenizer_class": "DistilBertTokenizer"})
    check(saved)
    assert read(saved).tokenizer.encode("the", "cat").segments == (0,) * 5


def test_texts_are_cut_at_the_side_that_truncation_side_says(saved: Path):
    import transformers

    edit(saved / "tokenizer_config.json", truncation_side="left")
    theirs = transformers.AutoTokenizer.from_pretrained(saved)
    expected = theirs(TEXTS[0], truncation=True, max_length=5)["input_ids"]
    assert list(read(saved).tokenizer.encode(TEXTS[0], max_tokens=5).ids) == expected


# --- each class ------------------------------------------------------------------------------------------------------


def backend_of(kind: str) -> Any:
    """A tokenizer.json with this kind of vocabulary, and nothing else that a class has."""
    from tokenizers import Tokenizer, models

    if kind == "WordPiece":
        words = [*SPECIAL, "<s>", "</s>", "<pad>", "<unk>", "<mask>", *VOCAB[5:]]
        return Tokenizer(models.WordPiece({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    if kind == "Unigram":
        return Tokenizer(models.Unigram(PIECES, unk_id=3, byte_fallback=False))
    special = [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "<mask>",
        *SPECIAL,
        "<|endoftext|>",
        "<|startoftext|>",
        "<bos>",
        "<eos>",
    ]
    words = [*special, *LETTERS, *(f"{one}</w>" for one in LETTERS), "Ġt", "th", "▁", "▁t", "<|padding|>"]
    return Tokenizer(
        models.BPE({word: index for index, word in enumerate(words)}, [("t", "h"), ("Ġ", "t"), ("▁", "t")])
    )


#: Classes of transformers that need boxes, or a table of tags: test_boxes and test_nodes compare them.
OF_WORDS = {"LayoutLMv3Tokenizer", "MarkupLMTokenizer"}


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {*OF_WORDS, "BertJapaneseTokenizer", "EsmTokenizer"}))
def test_each_class(name: str, tmp_path: Path):
    """From a tokenizer.json that has the vocabulary only, as transformers builds it."""
    backend_of(CLASSES[name].kind).save(str(tmp_path / "tokenizer.json"))
    put(tmp_path / "config.json", {"model_type": "clap_text_model"})  # of no class
    put(tmp_path / "tokenizer_config.json", {"tokenizer_class": name})
    check(tmp_path)
    more = {"add_prefix_space": CLASSES[name].kind == "BPE", "do_lower_case": True, "legacy": True}
    edit(tmp_path / "tokenizer_config.json", **more)
    check(tmp_path)


@pytest.mark.parametrize(
    ("model_type", "settings"),
    [
        ("roberta", {}), ("roberta", {"add_prefix_space": True}), ("deberta", {}), ("gpt2", {}), ("gpt2", {
            "add_bos_token": True, "bos_token": "<s>"}), ("clip", {}), ("gpt_neox", {}),
    ],
)  # fmt: skip
def test_vocab_json_and_merges_txt_by_the_class(model_type: str, settings: dict[str, Any], tmp_path: Path):
    backend_of("BPE").model.save(str(tmp_path))
    put(tmp_path / "config.json", {"model_type": model_type})
    put(tmp_path / "tokenizer_config.json", settings)
    check(tmp_path)


@pytest.mark.parametrize("model_type", ["flaubert", "xlm", "modernbert"])
def test_vocabulary_files_of_a_class_that_is_not_built_are_refused(model_type: str, tmp_path: Path):
    backend_of("BPE").model.save(str(tmp_path))
    put(tmp_path / "config.json", {"model_type": model_type})
    with pytest.raises(LoadError, match="tokenizer_class="):
        read(tmp_path)


@pytest.mark.parametrize("letters", ["wordpiece", "character"])
def test_japanese_words_without_a_dictionary(letters: str, tmp_path: Path):
    import transformers

    put(tmp_path / "vocab.txt", "\n".join([*SPECIAL, *"今日は天気", "今日", "##は", "##天気", "abc", "a"]) + "\n")
    settings = {"do_lower_case": False, "word_tokenizer_type": "basic", "subword_tokenizer_type": letters}
    put(tmp_path / "tokenizer_config.json", settings)
    put(tmp_path / "config.json", {"model_type": "bert", "tokenizer_class": "BertJapaneseTokenizer"})
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in ("今日は天気", "今日は 天気。abc", "ａ"):
        assert list(read(tmp_path).tokenizer.encode(text).ids) == theirs(text)["input_ids"]
    edit(tmp_path / "tokenizer_config.json", word_tokenizer_type="mecab")
    with pytest.raises(LoadError, match="word_tokenizer_type='mecab'"):
        read(tmp_path)


def test_the_names_are_those_of_transformers():
    from transformers.models.auto import tokenization_auto as auto

    names = {model: (name or "").removesuffix("Fast") for model, name in auto.TOKENIZER_MAPPING_NAMES.items()}
    known = {*FAMILIES, *JOINTS}
    assert {model: name for model, name in names.items() if model in known and name} == {
        model: name for model, name in OF_MODELS.items() if model != "clip_text_model"
    }
    assert set(FOLLOWS_MODEL) == known & auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
    others = {name for name in names.values() if name and name != "MistralCommonBackend"}
    assert others <= {*CLASSES, *AS_SAVED, *OTHERS}


# --- with the model --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"model_input_names": ["input_ids", "attention_mask"]},
        {"tokenizer_class": "DistilBertTokenizer"},
        {"tokenizer_class": "PreTrainedTokenizerFast"},
    ],
    ids=str,
)
def test_a_reranker_whose_tokenizer_gives_no_segments(settings: dict[str, Any], tmp_path: Path):
    from sentence_transformers import CrossEncoder

    folders.bert(tmp_path, "BertForSequenceClassification", num_labels=1)
    edit(tmp_path / "tokenizer_config.json", **settings)
    model = encoder.load(tmp_path, device="cpu")
    trace = model.trace("the cat", "a dog")
    assert set(trace.source.segments) == {0}
    ours = encoder.classify.predict(model, trace).table()["probability"].tolist()[0]
    assert ours == pytest.approx(float(CrossEncoder(str(tmp_path)).predict([("the cat", "a dog")])[0]), abs=1e-5)
