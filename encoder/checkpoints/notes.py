"""Sentences about a folder whose files contradict each other: this program and transformers may read it differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from encoder.checkpoints.weights import NUMBERS, WeightFiles
from encoder.inputs.json_file import read_json
from encoder.model.classifier import Classifier
from encoder.model.encoder import Encoder


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
        f"config.json has dtype={declared}, and the weights are stored as {stored}. This program computes in {used}, "
        f"and transformers in {declared}: their numbers differ by rounding.",
    )


def note_on_streams(encoder: Encoder) -> tuple[str, ...]:
    """A sentence where the model has a second residual stream: which of the two is shown and edited."""
    if encoder.config.beside is None:
        return ()
    return (
        "A second residual stream, of boxes, uses the same attention weights. All other values and all edits are of "
        "the text’s stream; another norm placement applies to both.",
    )


def note_on_letters(encoder: Encoder) -> tuple[str, ...]:
    """A sentence where the letters that the middle layer writes are added to the residual stream."""
    layer = encoder.config.letters_layer
    if layer is None:
        return ()
    return (
        f"What layer {layer - 1} writes, as probabilities of letters, is mapped back and added to the residual stream "
        f"before layer {layer}. No picture shows this part; sums of the residual stream count it with the embedding.",
    )


def notes_on_pairs(folder: Path, encoder: Encoder, head: Classifier | None) -> tuple[str, ...]:
    """Sentences for a cross-encoder whose pairs sentence-transformers changes before it reads them.

    It writes both texts into the tokenizer's template of conversations, and cuts them. Raises LoadError for a file that
    is not JSON.
    """
    path = folder / "tokenizer_config.json"
    is_reranker = head is not None and head.config.kind == "sequence" and len(head.config.labels) == 1
    if not is_reranker or not path.is_file():
        return ()
    fields = read_json(path)
    notes = []
    if fields.get("chat_template"):
        notes.append(
            "sentence-transformers writes both texts of a pair into the chat_template of tokenizer_config.json. Here "
            "they are a pair as they are: for its score, type the written template as one text."
        )
    limit = fields.get("model_max_length")
    if isinstance(limit, int) and 0 < limit < encoder.config.max_tokens:
        notes.append(
            f"sentence-transformers cuts a pair after {limit:,} tokens (model_max_length in tokenizer_config.json). "
            f"Here it is cut after {encoder.config.max_tokens:,}: type shorter texts for the same score."
        )
    return tuple(notes)
