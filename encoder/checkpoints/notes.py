"""Sentences about a folder whose files contradict each other: this program and transformers may read it differently."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from encoder.checkpoints.weights import NUMBERS, WeightFiles
from encoder.inputs.json_file import parse_json
from encoder.inputs.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

#: Ends of the names of tokenizers' classes, without "Fast" -> the kinds of vocabulary that they have. Other names say
#: nothing about the vocabulary.
VOCABULARIES = {
    "BertTokenizer": ("WordPiece", "WordLevel"), "ElectraTokenizer": ("WordPiece", "WordLevel"),
    "MPNetTokenizer": ("WordPiece", "WordLevel"), "RobertaTokenizer": ("BPE", "Unigram", "WordLevel"),
    "CLIPTokenizer": ("BPE", "WordLevel"), "AlbertTokenizer": ("Unigram", "WordLevel"),
}  # fmt: skip


def note_on_dtype(fields: dict[str, Any], files: WeightFiles, dtype: torch.dtype) -> tuple[str, ...]:
    """A sentence where config.json declares another number type than its weights have, and than is computed in.

    transformers 5 computes in the type that config.json declares (`dtype`, before `torch_dtype`).
    """
    declared = str(fields.get("dtype") or fields.get("torch_dtype") or "").removeprefix("torch.")
    known = {str(one).removeprefix("torch."): name for name, one in NUMBERS.items()}
    used = str(dtype).removeprefix("torch.")
    if declared not in known or declared == used or known[declared] in (kinds := files.kinds()):
        return ()
    stored = " and ".join(sorted(name for name, kind in known.items() if kind in kinds))
    return (
        f"config.json declares {declared}, and the weights are stored as {stored}. This program computes in {used}, "
        f"and transformers in {declared}: their numbers differ by rounding.",
    )


def note_on_tokenizer(folder: Path, tokenizer: Tokenizer) -> tuple[str, ...]:
    """A sentence where tokenizer_config.json contradicts tokenizer.json, which decides here."""
    path = folder / "tokenizer_config.json"
    if not (folder / "tokenizer.json").is_file() or not path.is_file():
        return ()
    settings = parse_json(path)
    found = sorted(set(_contradictions(settings, tokenizer.backend))) if isinstance(settings, dict) else ["its form"]
    if not found:
        return ()
    return (
        f"tokenizer_config.json contradicts tokenizer.json in {', '.join(found)}. This program follows tokenizer.json; "
        "transformers may split texts differently.",
    )


def _contradictions(settings: dict[str, Any], backend: tokenizers.Tokenizer) -> Iterator[str]:
    """The names of the settings that the tokenizer does not follow."""
    normalizer = backend.normalizer

    def changes(text: str) -> str:
        return text if normalizer is None else str(normalizer.normalize_str(text))

    behaviour = {
        "do_lower_case": "a" in changes("A"),
        "strip_accents": "e" in changes("é"),
        "tokenize_chinese_chars": changes("\u4e2d") != "\u4e2d",
    }
    for name, does in behaviour.items():
        if isinstance(settings.get(name), bool) and settings[name] is not does:
            yield name
    kind = str(settings.get("tokenizer_class")).removesuffix("Fast")
    fits = next((kinds for end, kinds in VOCABULARIES.items() if kind.endswith(end)), None)
    if fits is not None and not (type(backend.model).__name__ in fits and _splits_as_its_class(backend)):
        yield "tokenizer_class"
    ids = backend.encode("a").ids or [-1]
    said: dict[str, int | None] = {"cls_token": ids[0], "sep_token": ids[-1]}
    if (unknown := getattr(backend.model, "unk_token", None)) is not None:
        said["unk_token"] = backend.token_to_id(unknown)
    for name, token_id in said.items():
        named = settings.get(name)
        named = named.get("content") if isinstance(named, dict) else named
        if named is not None and token_id != backend.token_to_id(str(named)):
            yield name
    named = settings.get("added_tokens_decoder")
    if named is not None and (not isinstance(named, dict) or not _has_tokens(backend, named)):
        yield "added_tokens_decoder"


def _splits_as_its_class(backend: tokenizers.Tokenizer) -> bool:
    """Whether word pieces are found as by BERT's class: "##a" in words of 100 letters at most, without punctuation,
    and all of them between the special tokens."""
    if type(backend.model).__name__ != "WordPiece":
        return True
    splits = backend.pre_tokenizer is not None and len(backend.pre_tokenizer.pre_tokenize_str("a,b")) == 3
    model, is_whole = backend.model, len(backend.encode("a b")) == 4
    return splits and is_whole and (model.max_input_chars_per_word, model.continuing_subword_prefix) == (100, "##")


def _has_tokens(backend: tokenizers.Tokenizer, named: dict[str, Any]) -> bool:
    """Whether the tokenizer has these added tokens, by their ids; it may have more."""
    found = {str(token_id): token for token_id, token in backend.get_added_tokens_decoder().items()}
    for token_id, fields in named.items():
        wanted = fields if isinstance(fields, dict) else {"content": fields}
        token = found.get(token_id)
        if token is None or any(getattr(token, name, value) != value for name, value in wanted.items()):
            return False
    return True
