"""A small MarkupLM with the tokenizer of its authors' kind, which knows the words of the bundled page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from encoder.inputs.html_nodes import example
from tests.load import page_models
from tests.load.every_family import MARKUPLM

#: The tags of the bundled page but one.
TAGS = {tag: row for row, tag in enumerate("a body h1 h2 head html li p table td th title tr ul".split())}


def write(folder: Path, head: str = "Model", **more: Any) -> tuple[nn.Module, Any]:
    """The checkpoint, and the model and the tokenizer of transformers that it holds."""
    import transformers

    paths = {"max_depth": 5, "max_width": 20, "pad_width": 21}
    tokenizer = transformers.MarkupLMTokenizer(TAGS, **page_models.vocabulary(example().text), **paths)
    sizes = {**MARKUPLM, "vocab_size": len(tokenizer), "max_depth": 5, "max_xpath_tag_unit_embeddings": 16,
             "max_xpath_subs_unit_embeddings": 22, "tag_pad_id": 15, "subs_pad_id": 21, "hidden_size": 96}  # fmt: skip
    config = transformers.MarkupLMConfig(**{**sizes, **more})
    kind = f"MarkupLM{'' if head == 'Model' else 'For'}{head}"
    return page_models.write(folder, getattr(transformers, kind)(config), tokenizer)
