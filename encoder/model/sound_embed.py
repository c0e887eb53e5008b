"""The modules that make tokens of sound, and the positions that a convolution makes of tokens.

Shapes: B batch, N samples, S frames of a spectrogram, M mel bands, P patches, T tokens, E width, D d_model.
"""

from itertools import pairwise

import torch
from torch import Tensor, nn

from encoder.model.config import EncoderConfig
from encoder.model.layers import activate


class SpectrogramProjection(nn.Module):
    """Spectrogram [B, S, M] -> [CLS], distillation token, and a linear map of each patch, [B, P + 2, E]."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        shape = config.spectrogram
        assert shape is not None
        strides = (shape.mel_stride, shape.time_stride)
        self.projection = nn.Conv2d(1, config.embedding_width, kernel_size=shape.patch_size, stride=strides)
        self.cls = nn.Parameter(torch.zeros(1, 1, config.embedding_width))
        self.distillation = nn.Parameter(torch.zeros(1, 1, config.embedding_width))

    def forward(self, spectrogram: Tensor) -> Tensor:
        patches = self.projection(spectrogram.transpose(1, 2).unsqueeze(1)).flatten(2).transpose(1, 2)  # [B, P, E]
        first = [token.expand(len(patches), -1, -1) for token in (self.cls, self.distillation)]
        return torch.cat((*first, patches), dim=1)  # [B, P + 2, E]


class ConvolutionFront(nn.Module):
    """Samples [B, N] or spectrogram [B, M, S] -> tokens [B, T, E], by convolutions over time."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        shape = config.convolutions
        assert shape is not None
        others = len(shape.widths) - 1
        self.activations = (shape.first_activation or shape.activation, *(shape.activation,) * others)
        self.norm_kind = shape.norm
        biases = (shape.bias if shape.first_bias is None else shape.first_bias, *(shape.bias,) * others)
        sizes = zip(pairwise((shape.channels, *shape.widths)), shape.kernels, shape.strides, biases, strict=True)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(*widths, kernel, stride, padding=kernel // 2 if shape.padded else 0, bias=bias)
            for widths, kernel, stride, bias in sizes
        )
        # torch's own norms: they are not a LayerNorm of the encoder, and have its usual eps of 1e-5.
        norms: list[nn.Module] = []
        if shape.norm in ("group", "whole"):
            norms = [nn.GroupNorm(shape.widths[0] if shape.norm == "group" else 1, shape.widths[0])]
        elif shape.norm == "layer":
            norms = [nn.LayerNorm(width) for width in shape.widths]
        self.norms = nn.ModuleList(norms)
        last = shape.widths[-1]
        eps = config.norm_eps if shape.projection_eps is None else shape.projection_eps
        self.projection_norm = nn.LayerNorm(last, eps=eps) if shape.projection_norm else None
        self.projection = nn.Linear(last, config.embedding_width) if shape.projected else None

    def forward(self, sound: Tensor) -> Tensor:
        x = sound if sound.dim() == 3 else sound.unsqueeze(1)  # [B, channels, steps]
        for index, convolution in enumerate(self.convolutions):
            x = convolution(x)
            if self.norm_kind == "layer":
                x = self.norms[index](x.transpose(1, 2)).transpose(1, 2)
            elif self.norm_kind == "group" and index == 0:
                x = self.norms[0](x)
            x = activate(x, self.activations[index])
            if self.norm_kind == "whole" and index == 0:
                x = self.norms[0](x)
        x = x.transpose(1, 2)  # [B, T, width of the last convolution]
        if self.projection_norm is not None:
            x = self.projection_norm(x)
        if self.projection is not None:
            x = self.projection(x)
        return x


class ConvolutionalPositions(nn.Module):
    """act(convolution of the steps over time), [B, steps, E] -> [B, T, E]: what Wav2Vec2 adds as positions.

    One step is a token, or in SEW `merged` steps. The kernel is gain x direction / ||direction||, one gain for each
    step of time (weight normalisation, Salimans and Kingma 2016).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.groups, self.activation = config.position_groups, config.activation
        self.merged = config.merged_steps
        width, kernel = config.embedding_width, config.position_kernel
        self.gain = nn.Parameter(torch.ones(1, 1, kernel))
        self.direction = nn.Parameter(torch.empty(width, width // self.groups, kernel).normal_())
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.direction * (self.gain / self.direction.norm(dim=(0, 1), keepdim=True))
        kernel = weight.shape[-1]
        added = nn.functional.conv1d(x.transpose(1, 2), weight, self.bias, self.merged, kernel // 2, groups=self.groups)
        # An even kernel gives one step too many.
        return activate(added[..., : x.shape[1] // self.merged], self.activation).transpose(1, 2)


class StackedPositions(nn.Module):
    """The same by several convolutions, each followed by a LayerNorm without gain and the activation (Data2Vec,
    Baevski et al. 2022)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.activation = config.activation
        width, kernel = config.embedding_width, config.position_kernel
        self.layers = nn.ModuleList(
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=config.position_groups)
            for _ in range(config.position_layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        for convolution in self.layers:
            added = convolution(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
            x = activate(nn.functional.layer_norm(added, added.shape[-1:]), self.activation)
        return x
