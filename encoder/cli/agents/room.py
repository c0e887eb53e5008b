"""Whether the memory is enough for a question, by an estimate of what its pass will hold, before it runs.

The estimate is counted against `free_memory`, which `encoderscope mcp --memory` limits. Opening a model counts its
weights against the same.
"""

from __future__ import annotations

import argparse
import gc
from typing import TYPE_CHECKING

import torch

from encoder.causal.variants import TOKENS_AT_ONCE
from encoder.cli import inputs
from encoder.errors import LoadError, OutOfMemory
from encoder.explain.cost import layer_parts
from encoder.model.device import free_memory
from encoder.trace.trace import CHUNK_NUMBERS

if TYPE_CHECKING:
    from encoder.encoders.text import TextEncoder

#: Parts of a layer whose numbers grow with the square of the tokens; they are computed in chunks.
IN_CHUNKS = ("scores", "softmax")
#: Arrays that a batch or a chunk has at once: what goes in, what comes out, and one between them.
AT_ONCE = 3
CPU = torch.device("cpu")


def check(options: argparse.Namespace) -> None:
    """Raise OutOfMemory, in a sentence, for texts whose pass would hold more than is free."""
    words = [*_list(options.text), *_list(getattr(options, "query", None)), *_list(getattr(options, "pair", None))]
    options.model = options.given[0]
    model = _opened(options)
    needed = pass_bytes(model, max(len(model.tokenize(word)) for word in words))
    if needed > free_memory(CPU):
        inputs.close_models()  # another one than this may be open
        gc.collect()
        if needed > (free := free_memory(CPU)):
            raise OutOfMemory(
                f"This question needs about {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free: ask about a "
                "shorter text, or start `encoderscope mcp` with a larger --memory."
            )


def pass_bytes(model: TextEncoder, n_tokens: int) -> int:
    """Bytes of a recorded pass of a text, of the batch of changed runs next to it, and of a chunk of attention.

    An upper bound: MiniLM without a part grew by a fifth of it at 32 tokens, and by two fifths at 122 to 506.
    """
    config = model.config
    of_token = sum(part.bytes for part in layer_parts(config, 1) if part.key not in IN_CHUNKS) + 4 * config.d_ffn
    recorded = config.n_layers * n_tokens * of_token
    batch = AT_ONCE * max(TOKENS_AT_ONCE, n_tokens) * of_token
    return recorded + batch + AT_ONCE * 4 * CHUNK_NUMBERS


def _opened(options: argparse.Namespace) -> TextEncoder:
    """The model; where the memory is not enough for its weights, once more without those that are open."""
    try:
        return inputs.text_model(options)
    except LoadError:
        if not inputs.open_models():
            raise
        inputs.close_models()
        gc.collect()
        return inputs.text_model(options)


def _list(value: str | list[str] | None) -> list[str]:
    return [value] if isinstance(value, str) else value or []
