"""A small LayoutLMv3 or LiLT with the tokenizer of LayoutLMv3, which knows the words of the bundled page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from encoder.inputs.box_files import example
from tests.load import page_models
from tests.load.every_family import LAYOUTLMV3, LILT


def write(folder: Path, kind: str = "LayoutLMv3", **more: Any) -> tuple[nn.Module, Any]:
    """The checkpoint, and the model and the tokenizer of transformers that it holds."""
    import transformers

    words = page_models.vocabulary(example().text, add_prefix_space=True)
    tokenizer = transformers.LayoutLMv3Tokenizer(**words)
    sizes = {"LayoutLMv3": LAYOUTLMV3, "Lilt": LILT}[kind]
    config = getattr(transformers, f"{kind}Config")(**{**sizes, "vocab_size": len(tokenizer), **more})
    return page_models.write(folder, getattr(transformers, f"{kind}Model")(config), tokenizer)
