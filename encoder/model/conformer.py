"""The Conformer's convolution module (Gulati et al. 2020, section 2.2): a sublayer that mixes near tokens, channel by
channel.

Shapes: B batch, T tokens, D d_model, C channels of the convolution, V letters.
"""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.activation import activate
from encoder.model.checks import check_kinds, check_whole
from encoder.model.hooks import HookPoint

#: torch's own eps, which Wav2Vec2-Conformer and Parakeet have.
BATCH_EPS = 1e-5


@dataclass(frozen=True)
class Conformer:
    """A layer of four sublayers: a feed-forward layer, attention, convolution, a feed-forward layer; then a norm.

    What both feed-forward layers add is halved in the paper. Here the half is part of their last linear maps.
    """

    #: Tokens that the convolution sees: as many on both sides, or, if it is causal, earlier ones.
    kernel: int
    #: The norm after the convolution: "batch", with the statistics of training, or "layer".
    norm: Literal["batch", "layer"] = "batch"
    #: Whether its linear maps and the convolution have a bias.
    bias: bool = False
    #: Whether it sees earlier tokens only.
    causal: bool = False
    #: Channels of the convolution for each of d_model.
    expansion: int = 1
    #: Whether the convolution itself has a bias, by default as its linear maps.
    kernel_bias: bool | None = None
    #: Letters that the middle layer writes; what they are is added to the residual stream after it. 0: none.
    letters: int = 0

    def __post_init__(self) -> None:
        check_whole("kernel", self.kernel, 1, 10_000)
        check_whole("expansion", self.expansion, 1, 100)
        check_whole("letters", self.letters, 0, 1_000_000)
        check_kinds(self)
        if not self.causal and self.kernel % 2 == 0:
            raise ConfigError(f"kernel={self.kernel} has no middle: choose an odd number of tokens.")

    @property
    def before(self) -> int:
        """Earlier tokens that the convolution sees."""
        return self.kernel - 1 if self.causal else self.kernel // 2

    @property
    def after(self) -> int:
        """Later tokens that it sees."""
        return self.kernel - 1 - self.before


class BatchNorm(nn.Module):
    """(x - mean) / sqrt(variance + eps) x gain + bias for each channel of [B, C, T], with the statistics of training.

    They are weights of the checkpoint, as gain and bias are: each [C].
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mean, self.bias = (nn.Parameter(torch.zeros(width)) for _ in range(2))
        self.variance, self.weight = (nn.Parameter(torch.ones(width)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return F.batch_norm(x, self.mean.detach(), self.variance.detach(), self.weight, self.bias, eps=BATCH_EPS)


class Letters(nn.Module):
    """softmax(x W) W', [B, T, D] -> [B, T, D]: the letters that a layer writes (CTC), fed back to the next one."""

    def __init__(self, n_letters: int, width: int) -> None:
        super().__init__()
        self.w_in, self.w_out = nn.Linear(width, n_letters), nn.Linear(n_letters, width)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.w_out(self.w_in(x).softmax(dim=-1))
        return out


class ConvolutionModule(nn.Module):
    """W_out act(norm(convolution(GLU(x W_in)))), D -> 2C -> C -> D. Each channel has its own kernel over tokens."""

    def __init__(self, shape: Conformer, width: int, activation: str, eps: float) -> None:
        super().__init__()
        self.shape, self.activation = shape, activation
        channels, own_bias = shape.expansion * width, shape.bias if shape.kernel_bias is None else shape.kernel_bias
        self.w_in = nn.Linear(width, 2 * channels, bias=shape.bias)
        self.convolution = nn.Conv1d(channels, channels, shape.kernel, groups=channels, bias=own_bias)
        self.norm = BatchNorm(channels) if shape.norm == "batch" else nn.LayerNorm(channels, eps=eps)
        self.w_out = nn.Linear(channels, width, bias=shape.bias)
        self.hook_hidden = HookPoint("convolution.hidden")

    def gated(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """x [..., T, D] -> what the convolution reads, [..., T, C]. mask [..., T]: False for padding, which is 0."""
        out = F.glu(self.w_in(x), dim=-1)
        return out if mask is None else out.masked_fill(~mask.unsqueeze(-1), 0.0)

    def mixed(self, gated: Tensor) -> Tensor:
        """[B, T, C] -> [B, C, T]: for each token and channel the weighted sum over near tokens."""
        padded = F.pad(gated.transpose(1, 2), (self.shape.before, self.shape.after))
        out: Tensor = self.convolution(padded)
        return out

    def hidden(self, mixed: Tensor) -> Tensor:
        """[B, C, T] -> normalised and activated, [B, T, C]."""
        if self.shape.norm == "batch":
            return activate(self.norm(mixed), self.activation).transpose(1, 2)
        return activate(self.norm(mixed.transpose(1, 2)), self.activation)

    def forward(self, x: Tensor, layer: int, mask: Tensor | None = None) -> Tensor:
        hidden = self.hidden(self.mixed(self.gated(x, mask)))
        out: Tensor = self.w_out(self.hook_hidden(hidden, layer))
        return out
