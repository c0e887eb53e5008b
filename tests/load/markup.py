"""A small MarkupLM with the tokenizer of its authors' kind, which knows the words of the bundled page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from encoder.inputs.html_nodes import example
from tests.load import reference
from tests.load.boxes import TOKENS
from tests.load.every_family import MARKUPLM

#: The tags of the bundled page but one.
TAGS = {tag: row for row, tag in enumerate("a body h1 h2 head html li p table td th title tr ul".split())}


def write(folder: Path, head: str = "Model", **more: Any) -> tuple[nn.Module, Any]:
    """The checkpoint, and the model and the tokenizer of transformers that it holds."""
    import transformers
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([example().text] * 3, vocab_size=320, special_tokens=TOKENS)
    parts = json.loads(trained.to_str())["model"]
    merges = [tuple(one) if isinstance(one, list) else tuple(one.split()) for one in parts["merges"]]
    paths = {"max_depth": 5, "max_width": 20, "pad_width": 21}
    tokenizer = transformers.MarkupLMTokenizer(TAGS, vocab=parts["vocab"], merges=merges, **paths)
    sizes = {**MARKUPLM, "vocab_size": len(tokenizer), "max_depth": 5, "max_xpath_tag_unit_embeddings": 16,
             "max_xpath_subs_unit_embeddings": 22, "tag_pad_id": 15, "subs_pad_id": 21, "hidden_size": 96}  # fmt: skip
    config = transformers.MarkupLMConfig(**{**sizes, **more})
    model = getattr(transformers, f"MarkupLM{'' if head == 'Model' else 'For'}{head}")(config).eval()
    reference.randomised(model, 0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "query" in name:  # sharp attention would show rounding only
                parameter.div_(4.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model, tokenizer
