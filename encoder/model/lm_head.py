"""LMHead: a decoder's output -> logits of the next token.

Shapes: T tokens, D d_model, V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.checks import check_kinds, settle_factors
from encoder.model.config import EncoderConfig


@dataclass(frozen=True)
class LMHeadConfig:
    """The differences between such heads.

    tied: whether the map is the decoder's token table (False: one of its own); bias: whether each token has a bias;
    scale: factor of the output before the map (T5 with a tied table: 1 / sqrt(D)); cap: logits are cap x tanh(logit /
    cap) (Gemma 2), None: as they are.
    """

    tied: bool = True
    bias: bool = False
    scale: float = 1.0
    cap: float | None = None

    def __post_init__(self) -> None:
        check_kinds(self)
        settle_factors(self, "scale", "cap")


class LMHead(nn.Module):
    """The map from a decoder's output to the vocabulary. A tied table is an argument of `forward`."""

    def __init__(self, config: EncoderConfig, head: LMHeadConfig | None = None) -> None:
        super().__init__()
        self.config = head or LMHeadConfig()
        shape = config.vocab_size, config.d_model
        if self.config.tied and config.embedding_width != config.d_model:
            raise ConfigError("A tied table has vectors as wide as the output: set tied to False.")
        self.table = None if self.config.tied else nn.Parameter(torch.zeros(shape))
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if self.config.bias else None

    def forward(self, output: Tensor, token_table: Tensor) -> Tensor:
        """output [..., D], token_table [V, D] (the weights of `embedding.tokens`) -> logits [..., V]."""
        table, config = token_table if self.table is None else self.table, self.config
        output = output if config.scale == 1.0 else output * config.scale
        logits = nn.functional.linear(output, table, self.bias)
        return logits if config.cap is None else torch.tanh(logits / config.cap) * config.cap
