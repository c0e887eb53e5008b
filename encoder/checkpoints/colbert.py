"""Folders of late interaction that sentence-transformers did not write: ColBERT's own, and PyLate's.

ColBERT (Santhanam et al. 2022) has its projection among the encoder's weights and its settings in artifact.metadata.
PyLate has its settings in config_sentence_transformers.json, and lists neither mask nor norm among its modules. Both
put one token before each query and each document. They are read as sentence-transformers 6 reads them.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import read_json

ARCHITECTURE, METADATA, SETTINGS = "HF_ColBERT", "artifact.metadata", "config_sentence_transformers.json"
#: The projection, next to the encoder's weights.
PROJECTION = "linear.weight"
#: Tokens to which a query is filled where no file says it.
USUAL_LENGTH = 32
#: The fields of PyLate's files.
PYLATE = ("query_length", "document_length", "query_expansion", "do_query_expansion", "attend_to_expansion_tokens",
          "attend_to_mask_tokens", "query_prefix", "document_prefix", "skiplist_words")  # fmt: skip


@dataclass(frozen=True)
class LateFields:
    """What such files say of late interaction."""

    #: What comes before a text, by "query" and "document".
    markers: Mapping[str, str] = field(default_factory=dict)
    #: query_expansion, query_length and document_length, which sentence_bert_config.json may say, too, and first.
    lengths: Mapping[str, Any] = field(default_factory=dict)
    #: Tokens that do not count in documents, besides those of the mask's own file.
    skipped: tuple[str, ...] = ()
    #: Whether a mask and a norm 1 follow the modules, though none of them says so.
    completed: bool = False
    #: Whether sentence_bert_config.json says nothing.
    alone: bool = False
    #: The class of sentence-transformers or PyLate that wrote the folder.
    kind: str = "SentenceTransformer"


def is_colbert(folder: Path) -> bool:
    """Whether config.json names ColBERT's own model."""
    path = folder / "config.json"
    named = read_json(path).get("architectures") if path.is_file() else None
    return isinstance(named, list) and ARCHITECTURE in named


def read_metadata(folder: Path) -> LateFields:
    """The settings of ColBERT's own folder; without artifact.metadata, the usual ones. Raises LoadError."""
    path = folder / METADATA
    fields = read_json(path) if path.is_file() else {}
    tokens = {
        role: _text(METADATA, f"{key}_token_id", fields.get(f"{key}_token_id") or usual)
        for role, key, usual in (("query", "query", "[unused0]"), ("document", "doc", "[unused1]"))
    }
    expansion = {"attend": bool(fields.get("attend_to_mask_tokens")), "length": fields.get("query_maxlen")}
    return LateFields(
        {role: f"{token} " for role, token in tokens.items()},
        {"document_length": fields.get("doc_maxlen"), "query_expansion": _fixed(expansion)},
        tuple(string.punctuation) if fields.get("mask_punctuation", True) else (),
        completed=True,
        alone=True,
    )


def read_pylate(folder: Path) -> LateFields:
    """PyLate's settings; those of another program's folder say nothing. Raises LoadError.

    sentence-transformers completes the modules unless model_type says that they are its own.
    """
    path = folder / SETTINGS
    fields = read_json(path) if path.is_file() else {}
    kind, marked = fields.get("model_type") or "SentenceTransformer", any(key in fields for key in PYLATE)
    lengths = {key: fields[key] for key in ("query_length", "document_length") if fields.get(key) is not None}
    if "query_expansion" in fields:
        lengths["query_expansion"] = fields["query_expansion"]
    elif marked and fields.get("do_query_expansion") is not False:
        attend = fields.get("attend_to_expansion_tokens", fields.get("attend_to_mask_tokens"))
        lengths["query_expansion"] = _fixed({"attend": bool(attend), "length": lengths.pop("query_length", None)})
    words = fields.get("skiplist_words")
    if not isinstance(words, list | None) or not all(isinstance(word, str) for word in words or ()):
        raise LoadError(f"{SETTINGS} has skiplist_words={quoted(words)}: specify a list of tokens.")
    usual = string.punctuation if kind == "ColBERT" or {"query_prefix", "document_prefix"} & set(fields) else ()
    completed = kind in ("ColBERT", "SentenceTransformer")
    skipped = tuple(usual if words is None else words) if completed else ()
    markers = {
        role: _text(SETTINGS, f"{role}_prefix", fields[f"{role}_prefix"] or "")
        for role in ("query", "document")
        if f"{role}_prefix" in fields
    }
    return LateFields(markers, lengths, skipped, completed, kind=str(kind))


def _fixed(expansion: dict[str, Any]) -> dict[str, Any]:
    """A query of just so many tokens."""
    return {"strategy": "fixed", **expansion, "length": expansion["length"] or USUAL_LENGTH}


def _text(file: str, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise LoadError(f"{file} has {key}={quoted(value)}: specify the text of a token.")
    return value


def with_markers(prompts: Mapping[str, str], markers: Mapping[str, str]) -> dict[str, str]:
    """The prompts with a marker before each, once."""
    return {**prompts} | {
        role: marker + (prompts.get(role) or "").removeprefix(marker) for role, marker in markers.items()
    }
