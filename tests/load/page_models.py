"""What small models of pages share: a byte-level vocabulary of the words of one page, and their random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.load import reference

TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def vocabulary(text: str, **options: Any) -> dict[str, Any]:
    """The vocabulary and the merges of a tokenizer that is trained on a text."""
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer(**options)
    trained.train_from_iterator([text] * 3, vocab_size=320, special_tokens=TOKENS)
    parts = json.loads(trained.to_str())["model"]
    merges = [tuple(one) if isinstance(one, list) else tuple(one.split()) for one in parts["merges"]]
    return {"vocab": parts["vocab"], "merges": merges}


def write(folder: Path, model: nn.Module, tokenizer: Any) -> tuple[nn.Module, Any]:
    """Draw the weights and write the checkpoint; both are returned."""
    reference.randomised(model.eval(), 0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "query" in name:  # sharp attention would show rounding only
                parameter.div_(4.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer
