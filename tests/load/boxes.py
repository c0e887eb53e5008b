"""A small LayoutLMv3 or LiLT with the tokenizer of LayoutLMv3, which knows the words of the bundled page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from encoder.inputs.box_files import example
from tests.load import reference
from tests.load.every_family import LAYOUTLMV3, LILT

TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def write(folder: Path, kind: str = "LayoutLMv3") -> tuple[nn.Module, Any]:
    """The checkpoint, and the model and the tokenizer of transformers that it holds."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer(add_prefix_space=True)
    trained.train_from_iterator([example().text] * 3, vocab_size=320, special_tokens=TOKENS)
    parts = json.loads(trained.to_str())["model"]
    merges = [tuple(one) if isinstance(one, list) else tuple(one.split()) for one in parts["merges"]]
    tokenizer = transformers.LayoutLMv3Tokenizer(vocab=parts["vocab"], merges=merges)
    sizes = {"LayoutLMv3": LAYOUTLMV3, "Lilt": LILT}[kind]
    config = getattr(transformers, f"{kind}Config")(**{**sizes, "vocab_size": len(tokenizer)})
    model = getattr(transformers, f"{kind}Model")(config).eval()
    reference.randomised(model, 0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "query" in name:  # sharp attention would show rounding only
                parameter.div_(4.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer
