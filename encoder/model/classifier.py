"""Classifier: the head of a checkpoint that names classes, of a text or of each token.

Shapes: N texts, T tokens, D d_model, C classes.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.activation import activate
from encoder.model.checks import MAX_LAYERS, check_kinds, check_whole, settle_eps
from encoder.model.pooling import Pooling, pool

Kind = Literal["sequence", "token"]
#: What makes probabilities of the logits; "none": they are scores, as of a regression.
Scale = Literal["softmax", "sigmoid", "none"]
HeadActivation = Literal["none", "tanh", "relu", "gelu", "gelu_tanh", "quick_gelu", "silu"]


@dataclass(frozen=True)
class ClassifierConfig:
    """The differences between classification heads."""

    #: "sequence": classes of a text; "token": of each token.
    kind: Kind
    #: [C]: their names.
    labels: tuple[str, ...]
    #: The vector of a text.
    pooling: Pooling = "cls"
    #: Whether a linear map [D, D] comes first.
    dense: bool = False
    #: Whether that map has a bias.
    dense_bias: bool = True
    #: After that map.
    activation: HeadActivation = "none"
    #: Whether a LayerNorm follows.
    norm: bool = False
    #: Of this LayerNorm.
    norm_eps: float = 1e-5
    #: Whether this LayerNorm has a bias.
    norm_bias: bool = True
    #: Whether the map to the classes has a bias.
    out_bias: bool = True
    #: What makes probabilities of the logits.
    scale: Scale = "softmax"
    #: Whose input the head uses, None for the encoder's output.
    layer: int | None = None
    #: The width P of the linear map where it is another, [D, P].
    dense_width: int | None = None
    #: Whether it reads that output before the final norm (CLIP).
    before_norm: bool = False
    #: L + 1 where it reads a weighted sum of the embeddings and all layers' outputs (Wav2Vec2), else 0.
    n_summed: int = 0

    def __post_init__(self) -> None:
        check_kinds(self)
        if not self.labels:
            raise ConfigError("A classification head needs at least one label: name its classes.")
        settle_eps(self, "norm_eps")
        if self.layer is not None:
            check_whole("layer", self.layer, 0, MAX_LAYERS)
        check_whole("n_summed", self.n_summed, 0, MAX_LAYERS + 1)
        if self.dense_width is not None:
            check_whole("dense_width", self.dense_width, 1)

    @property
    def reads_output(self) -> bool:
        """Whether the encoder's output is all that the head uses, or one layer's input is."""
        return not self.before_norm and not self.n_summed


class Classifier(nn.Module):
    """norm(act(x W + b)) U + c, of the pooled vector of a text or of each token's vector x."""

    def __init__(self, d_model: int, config: ClassifierConfig) -> None:
        super().__init__()
        self.config = config
        width = config.dense_width or d_model if config.dense else d_model
        self.dense = nn.Linear(d_model, width, bias=config.dense_bias) if config.dense else None
        self.norm = nn.LayerNorm(width, eps=config.norm_eps, bias=config.norm_bias) if config.norm else None
        self.out = nn.Linear(width, len(config.labels), bias=config.out_bias)
        self.layer_weights = nn.Parameter(torch.zeros(config.n_summed)) if config.n_summed else None

    def forward(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """vectors [N, T, D], mask [N, T] (True: a real token) -> logits [N, C], of tokens [N, T, C]."""
        x = pool(vectors, mask, self.config.pooling) if self.config.kind == "sequence" else vectors
        if self.dense is not None:
            x = self.dense(x)
            x = activate(x, self.config.activation)
        if self.norm is not None:
            x = self.norm(x)
        logits: Tensor = self.out(x)
        return logits

    def probabilities(self, logits: Tensor) -> Tensor:
        """logits [..., C] -> probabilities [..., C] in float32; scores stay as they are."""
        logits = logits.float()
        if self.config.scale == "none":
            return logits
        return logits.sigmoid() if self.config.scale == "sigmoid" else logits.softmax(dim=-1)

    def log_odds(self, logits: Tensor, label: int) -> Tensor:
        """log(p / (1 - p)) of one label, from logits [..., C] -> [...]; scores stay as they are."""
        logits = logits.float()
        if self.config.scale != "softmax":
            return logits[..., label]
        others = logits.index_fill(-1, torch.tensor([label], device=logits.device), -torch.inf)
        return logits[..., label] - others.logsumexp(dim=-1)
