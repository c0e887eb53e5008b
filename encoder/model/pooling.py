"""Pooling: one vector of a text from the vectors of its tokens, in the ways of sentence-transformers.

Shapes: N texts, T tokens, D d_model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.config import check_whole

Pooling = Literal["mean", "cls", "max", "mean_sqrt_len", "weighted_mean", "last", "first_two", "after_first"]
POOLINGS: tuple[Pooling, ...] = (
    "mean", "cls", "max", "mean_sqrt_len", "weighted_mean", "last", "first_two", "after_first"
)  # fmt: skip

DenseActivation = Literal["none", "tanh", "relu", "gelu"]
DENSE_ACTIVATIONS: dict[str, nn.Module] = {
    "none": nn.Identity(),
    "tanh": nn.Tanh(),
    "relu": nn.ReLU(),
    "gelu": nn.GELU(),
}


def pool(output: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """output [N, T, D], mask [N, T] (True for real tokens, which come first) -> [N, D].

    "mean": of the real tokens; "cls": the first token; "max": the largest number of each dimension; "mean_sqrt_len":
    the sum, divided by the root of the number of tokens; "weighted_mean": token i counts i + 1 times; "last": the last
    real token; "first_two": the mean of [CLS] and the distillation token (AST); "after_first": the mean of the real
    tokens but the first (BEiT, CLIP's classes).
    """
    if pooling == "after_first":
        output, mask = output[:, 1:], mask[:, 1:]
    if pooling == "first_two":
        return output[:, :2].mean(dim=1)
    if pooling == "cls":
        return output[:, 0]
    if pooling == "last":
        return output[torch.arange(len(output), device=output.device), mask.sum(dim=1) - 1]
    if pooling == "max":
        return output.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)
    weight = mask.unsqueeze(-1).to(output.dtype)  # [N, T, 1]
    if pooling == "weighted_mean":
        weight = weight * torch.arange(1, output.shape[1] + 1, device=output.device).to(output.dtype).view(1, -1, 1)
    total = weight.sum(dim=1)
    return (output * weight).sum(dim=1) / (total.sqrt() if pooling == "mean_sqrt_len" else total)


@dataclass(frozen=True)
class DenseConfig:
    """A linear map after pooling, d_in -> d_out, and its activation."""

    d_in: int
    d_out: int
    bias: bool = True
    activation: DenseActivation = "tanh"

    def __post_init__(self) -> None:
        check_whole("d_in", self.d_in, 1)
        check_whole("d_out", self.d_out, 1)
        if self.activation not in DENSE_ACTIVATIONS:
            raise ConfigError(
                f"activation={self.activation!r} is unknown: choose one of {', '.join(DENSE_ACTIVATIONS)}."
            )


class Dense(nn.Module):
    """act(x W + b) on pooled vectors, [N, d_in] -> [N, d_out] (LaBSE has one)."""

    def __init__(self, config: DenseConfig) -> None:
        super().__init__()
        self.config = config
        self.linear = nn.Linear(config.d_in, config.d_out, bias=config.bias)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = DENSE_ACTIVATIONS[self.config.activation](self.linear(x))
        return out
