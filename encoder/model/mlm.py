"""MLMHead: the masked-word head, from the encoder's output to the vocabulary (Devlin et al. 2019, 3.1).

Shapes: B batch, T tokens, D d_model, E width of the token table (D unless it is factorised), V vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.activation import activate
from encoder.model.checks import check_kinds, settle_eps
from encoder.model.config import Activation, EncoderConfig


@dataclass(frozen=True)
class MLMHeadConfig:
    """The differences between masked-word heads. Sizes come from the EncoderConfig."""

    #: Between the dense map and the norm.
    activation: Activation = "gelu"
    #: Of the LayerNorm.
    norm_eps: float = 1e-12
    #: Whether the LayerNorm has a bias.
    norm_bias: bool = True
    #: Whether the dense map has a bias.
    dense_bias: bool = True
    #: Whether each word has a bias.
    decoder_bias: bool = True
    #: Whether the word vectors are the encoder's token table (False: the head has its own table).
    tied: bool = True

    def __post_init__(self) -> None:
        check_kinds(self)
        settle_eps(self, "norm_eps")


class MLMHead(nn.Module):
    """norm(act(x W + b)) times the token table, plus a bias for each word.

    A tied table is an argument of `forward`, so it is not counted twice. Raises ConfigError for an encoder without a
    vocabulary (images).
    """

    def __init__(self, config: EncoderConfig, head: MLMHeadConfig | None = None) -> None:
        super().__init__()
        if config.vocab_size < 1:
            raise ConfigError(
                f"A masked-word head needs a vocabulary, not vocab_size={config.vocab_size}: choose 1 or more."
            )
        head = head or MLMHeadConfig()
        self.config = head
        width = config.embedding_width
        self.dense = nn.Linear(config.d_model, width, bias=head.dense_bias)
        self.norm = nn.LayerNorm(width, eps=head.norm_eps, bias=head.norm_bias)
        self.table = None if head.tied else nn.Parameter(torch.zeros(config.vocab_size, width))
        self.bias = nn.Parameter(torch.zeros(config.vocab_size)) if head.decoder_bias else None

    def forward(self, output: Tensor, token_table: Tensor) -> Tensor:
        """output [..., D], token_table [V, E] (the weights of `embedding.tokens`) -> logits [..., V]."""
        x = self.norm(activate(self.dense(output), self.config.activation))  # [..., E]
        return nn.functional.linear(x, token_table if self.table is None else self.table, self.bias)  # [..., V]


@dataclass(frozen=True)
class MaskedPrediction:
    """The head's prediction at one mask token, the most probable tokens first.

    position: index of the mask token in its trace; ids, tokens, probabilities: k each. The softmax runs over the whole
    vocabulary, so the k probabilities sum to less than 1.
    """

    position: int
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
