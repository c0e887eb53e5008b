"""Pooling: one vector of a text from the vectors of its tokens, in the ways of sentence-transformers.

Shapes: N texts, T tokens, D d_model.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError, quoted
from encoder.model.activation import activate
from encoder.model.checks import check_kinds, check_whole

Pooling = Literal["mean", "cls", "max", "mean_sqrt_len", "weighted_mean", "last", "first_two", "after_first"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)

DenseActivation = Literal["none", "tanh", "relu", "gelu", "sigmoid", "silu"]


def parts_of(pooling: str) -> list[str]:
    """The ways of pooling whose vectors are joined: "cls+mean" has two. Raises ConfigError for an unknown one."""
    parts = pooling.split("+")
    if unknown := [part for part in parts if part not in POOLINGS]:
        raise ConfigError(
            f"pooling={quoted(unknown[0])} is unknown: choose one of {', '.join(POOLINGS)}, or several with +."
        )
    return parts


def pool(output: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """output [N, T, D], mask [N, T] (True for tokens that count) -> [N, D]; of n ways joined by "+" [N, n x D].

    "mean": of the real tokens; "cls": the first token; "max": the largest number of each dimension; "mean_sqrt_len":
    the sum, divided by the root of the number of tokens; "weighted_mean": token i counts i + 1 times; "last": the last
    real token; "first_two": the mean of [CLS] and the distillation token (AST); "after_first": the mean of the real
    tokens but the first (BEiT, CLIP's classes).
    """
    if "+" in pooling:
        return torch.cat([pool(output, mask, part) for part in parts_of(pooling)], dim=-1)
    rows = torch.arange(len(output), device=output.device)
    if pooling == "after_first":
        output, mask = output[:, 1:], mask[:, 1:]
    if pooling == "first_two":
        return output[:, :2].mean(dim=1)
    if pooling == "cls":
        return output[rows, mask.int().argmax(dim=1)]
    if pooling == "last":
        return output[rows, mask.shape[1] - 1 - mask.int().flip(1).argmax(dim=1)]
    if pooling == "max":
        return output.masked_fill(~mask.unsqueeze(-1), float("-inf")).amax(dim=1)
    weight = mask.unsqueeze(-1).to(output.dtype)  # [N, T, 1]
    if pooling == "weighted_mean":
        weight = weight * torch.arange(1, output.shape[1] + 1, device=output.device).to(output.dtype).view(1, -1, 1)
    total = weight.sum(dim=1)
    return (output * weight).sum(dim=1) / (total.sqrt() if pooling == "mean_sqrt_len" else total)


@dataclass(frozen=True)
class DenseConfig:
    """A linear map, d_in -> d_out, and its activation. residual: whether x is added, mapped where the widths differ."""

    d_in: int
    d_out: int
    bias: bool = True
    activation: DenseActivation = "tanh"
    residual: bool = False

    def __post_init__(self) -> None:
        check_whole("d_in", self.d_in, 1)
        check_whole("d_out", self.d_out, 1)
        check_kinds(self)


class Dense(nn.Module):
    """act(x W + b) on vectors, [..., d_in] -> [..., d_out] (LaBSE has one)."""

    def __init__(self, config: DenseConfig) -> None:
        super().__init__()
        self.config = config
        self.linear = nn.Linear(config.d_in, config.d_out, bias=config.bias)
        mapped = config.residual and config.d_in != config.d_out
        self.residual = nn.Linear(config.d_in, config.d_out, bias=False) if mapped else None

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = activate(self.linear(x), self.config.activation)
        return out + self.carried(x) if self.config.residual else out

    def carried(self, x: Tensor) -> Tensor:
        """What a residual connection adds: x, or its linear map."""
        found: Tensor = x if self.residual is None else self.residual(x)
        return found


@dataclass(frozen=True)
class SparseConfig:
    """SPLADE: the weight of a vocabulary word is the "max" or "sum" over tokens of log(1 + relu(logit)).

    "present": each word of the text has a weight of its own, whatever stands next to it, and others have 0 (the query
    side of an inference-free SPLADE). Its table of tokens has one number for each word.
    """

    pooling: Literal["max", "sum", "present"] = "max"
    #: Whether the logarithm is taken twice, log(1 + log(1 + relu(logit))).
    twice: bool = False
    #: How many of the largest weights count; None: all.
    most: int | None = None

    def __post_init__(self) -> None:
        check_kinds(self)
        if self.most is not None:
            check_whole("most", self.most, 1)


@dataclass(frozen=True)
class TokenMerge:
    """Which vectors of a text's tokens are replaced by their means: Ward's clusters of their cosine distances.

    Of T tokens T // factor means remain, and the first `protected` stay as they are.
    """

    factor: float
    protected: int = 1
    #: Whether the means get norm 1.
    normalise: bool = True
    #: Whether queries are merged, too, and whether documents are.
    queries: bool = False
    documents: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.factor, int | float) or isinstance(self.factor, bool) or not 1 <= self.factor < 1e9:
            raise ConfigError(f"factor={quoted(self.factor)} is out of range: choose 1 or more.")
        check_whole("protected", self.protected, 0)
        check_kinds(self)


@dataclass(frozen=True)
class LateConfig:
    """Late interaction (ColBERT; Khattab and Zaharia 2020): which tokens of a query and of a document are compared."""

    #: Whether their vectors get norm 1.
    normalise: bool = True
    #: Tokens that do not count.
    skipped: tuple[str, ...] = ()
    #: Whether these do not count in queries.
    skips_queries: bool = False
    #: Whether they do not count in documents.
    skips_documents: bool = True
    #: Tokens to which a query is filled with `filler`; 0: it is not.
    n_query: int = 0
    #: The token to which queries are filled.
    filler: str | None = None
    #: What follows the words of a query (ColModernVBERT).
    suffix: str = ""
    #: Whether a longer query is cut there.
    exact: bool = True
    #: Whether other tokens attend to the filler.
    attends: bool = False
    #: Where queries are cut; None: where `embed` cuts texts.
    query_length: int | None = None
    #: Where documents are cut; None: where `embed` cuts texts.
    document_length: int | None = None
    #: The only ids that count in documents; none: all.
    kept_ids: tuple[int, ...] = ()
    #: What makes fewer vectors of them; None: each token has one.
    merge: TokenMerge | None = None
