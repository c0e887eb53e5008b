"""MLMHead: from the encoder's output to words, the head of masked-language-model training (Devlin et al. 2019, 3.1).

Shapes: B batch, T tokens, D d_model, E width of the token table (D unless it is factorised), V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.config import ACTIVATIONS, Activation, EncoderConfig
from encoder.errors import ConfigError
from encoder.layers import activate


@dataclass(frozen=True)
class MLMHeadConfig:
    """In what one masked-word head differs from another. Sizes come from the EncoderConfig.

    activation: between the dense map and the norm; norm_eps, norm_bias: of its LayerNorm; dense_bias: whether the dense
    map has a bias; decoder_bias: whether each word has one; tied: the word vectors are the encoder's own token table
    (False: the head holds a table of its own).
    """

    activation: Activation = "gelu"
    norm_eps: float = 1e-12
    norm_bias: bool = True
    dense_bias: bool = True
    decoder_bias: bool = True
    tied: bool = True

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise ConfigError(f"activation={self.activation!r}: choose one of {', '.join(ACTIVATIONS)}.")


class MLMHead(nn.Module):
    """norm(act(x W + b)) times the token table, + a bias a word. A tied table is passed in, and so never counted twice.

    Raises ConfigError for an encoder that has no vocabulary (images).
    """

    def __init__(self, config: EncoderConfig, head: MLMHeadConfig | None = None) -> None:
        super().__init__()
        if config.vocab_size < 1:
            raise ConfigError(f"vocab_size={config.vocab_size}: a masked-word head needs words to predict.")
        head = head or MLMHeadConfig()
        self.config = head
        width = config.embedding_width
        self.dense = nn.Linear(config.d_model, width, bias=head.dense_bias)
        self.norm = nn.LayerNorm(width, eps=head.norm_eps, bias=head.norm_bias)
        self.table = None if head.tied else nn.Parameter(torch.zeros(config.vocab_size, width))
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if head.decoder_bias else None

    def forward(self, output: Tensor, token_table: Tensor) -> Tensor:
        """output [..., D], token_table [V, E] (`encoder.embedding.tokens.weight`) -> logits [..., V]."""
        x = self.norm(activate(self.dense(output), self.config.activation))  # [..., E]
        return nn.functional.linear(x, token_table if self.table is None else self.table, self.bias)  # [..., V]


@dataclass(frozen=True)
class MaskedPrediction:
    """What the head expects at one masked token, the most probable first.

    position: index of the token in its trace; ids, tokens, probabilities: k each; a probability is that of the softmax
    over the whole vocabulary, so the k of them sum to less than 1.
    """

    position: int
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
