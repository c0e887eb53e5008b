"""Edited forward passes of transformers' models, by forward hooks and a softmax of the test's own.

Nothing here uses the engine: a change is a function on a tensor [H, T, K], [T, C] or [H, T, T] at a named place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

Change = Callable[[Tensor], Tensor]

#: Point -> (module inside the layer, whether the point is the module's input).
BERT = {
    "q": ("attention.self.query", False), "k": ("attention.self.key", False), "v": ("attention.self.value", False),
    "z": ("attention.output.dense", True), "attention_out": ("attention.output.dense", False),
    "after_attention": ("attention.output", False), "ffn.hidden": ("output.dense", True),
    "ffn_out": ("output.dense", False), "after_ffn": ("output", False),
}  # fmt: skip
PLACES = {
    "bert": BERT,
    "roberta": BERT,
    "distilbert": {
        "q": ("attention.q_lin", False), "k": ("attention.k_lin", False), "v": ("attention.v_lin", False),
        "z": ("attention.out_lin", True), "attention_out": ("attention.out_lin", False),
        "after_attention": ("sa_layer_norm", False), "ffn.hidden": ("ffn.lin2", True), "ffn_out": ("ffn.lin2", False),
        "after_ffn": ("output_layer_norm", False),
    },
    "modernbert": {
        "z": ("attn.Wo", True), "attention_out": ("attn.Wo", False), "ffn.hidden": ("mlp.Wo", True),
        "ffn_out": ("mlp.Wo", False), "after_ffn": ("", False),
    },
    "vit": {
        "q": ("attention.q_proj", False), "k": ("attention.k_proj", False), "v": ("attention.v_proj", False),
        "z": ("attention.o_proj", True), "attention_out": ("attention.o_proj", False), "ffn.hidden": ("mlp.fc2", True),
        "ffn_out": ("mlp.fc2", False), "after_ffn": ("", False),
    },
}  # fmt: skip


def layers_of(model: Any) -> Any:
    """The list of layers."""
    if hasattr(model, "encoder"):
        return model.encoder.layer
    return model.transformer.layer if hasattr(model, "transformer") else model.layers


@contextmanager
def edited(model: Any, family: str, n_heads: int, changes: dict[tuple[str, int], Change]) -> Iterator[None]:
    """Inside, the model's forward passes change (point, layer) -> function(value). Layer -1: outside the layers."""
    handles = []
    for (point, layer), change in changes.items():
        if point in ("scores", "pattern"):
            continue
        if point == "embedding":
            module, is_input = model.embeddings, False
        else:
            name, is_input = PLACES[family][point]
            module = layers_of(model)[layer].get_submodule(name)
        by_head = point in ("q", "k", "v", "z")

        def new(value: Tensor, change: Change = change, by_head: bool = by_head) -> Tensor:
            if by_head:
                return change(value[0].unflatten(-1, (n_heads, -1)).transpose(0, 1)).transpose(0, 1).flatten(1)[None]
            return change(value[0])[None]

        def before(_: nn.Module, inputs: Any, new: Change = new) -> Any:
            return (new(inputs[0]), *inputs[1:])

        def after(_: nn.Module, __: Any, output: Any, new: Change = new) -> Any:
            return (new(output[0]), *output[1:]) if isinstance(output, tuple) else new(output)

        handles.append(module.register_forward_pre_hook(before) if is_input else module.register_forward_hook(after))
    softmax, counted = nn.functional.softmax, iter(range(99))

    def edited_softmax(scores: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
        layer = next(counted)
        scores = changes.get(("scores", layer), lambda value: value)(scores[0])[None]
        return changes.get(("pattern", layer), lambda value: value)(softmax(scores, dim=dim, dtype=dtype)[0])[None]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nn.functional, "softmax", edited_softmax)
        yield
    for handle in handles:
        handle.remove()


@torch.no_grad()
def run(
    model: Any, family: str, n_heads: int, inputs: dict[str, Tensor], changes: dict[tuple[str, int], Change]
) -> Tensor:
    """The last hidden state [T, D] of an edited pass over one text."""
    with edited(model, family, n_heads, changes):
        output: Tensor = model(**inputs).last_hidden_state[0]
    return output


def values(
    model: Any, family: str, n_heads: int, inputs: dict[str, Tensor], places: list[tuple[str, int]]
) -> dict[tuple[str, int], Tensor]:
    """What an unedited pass has at these places."""
    found: dict[tuple[str, int], Tensor] = {}

    def keeping(place: tuple[str, int]) -> Change:
        def keep(value: Tensor) -> Tensor:
            found[place] = value.clone()
            return value

        return keep

    run(model, family, n_heads, inputs, {place: keeping(place) for place in places})
    return found
