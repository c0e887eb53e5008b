"""How sound becomes tokens: patches of a spectrogram (AST), convolutions over time (Whisper, Wav2Vec2, HuBERT), or
frames of a spectrogram, each by itself (Wav2Vec2-BERT) or fewer by convolutions over time and bands (Parakeet)."""

import math
from dataclasses import dataclass
from typing import Literal

from encoder.errors import ConfigError
from encoder.model.checks import check_kinds, check_whole, settle_eps

ConvolutionNorm = Literal["none", "group", "layer", "whole"]


@dataclass(frozen=True)
class SpectrogramPatches:
    """Sound as a log-mel spectrogram of one size, cut into square patches that may overlap (AST; Gong et al. 2021).

    n_frames, n_mels: the spectrogram; patch_size: side of a patch; time_stride, mel_stride: from one patch to the next.
    """

    n_frames: int
    n_mels: int
    patch_size: int = 16
    time_stride: int = 10
    mel_stride: int = 10

    def __post_init__(self) -> None:
        check_whole("n_frames", self.n_frames, 1)
        check_whole("n_mels", self.n_mels, 1)
        check_whole("patch_size", self.patch_size, 1, min(int(self.n_frames), int(self.n_mels)))
        check_whole("time_stride", self.time_stride, 1)
        check_whole("mel_stride", self.mel_stride, 1)
        check_whole("the number of patches", self.count, 1)

    @property
    def n_times(self) -> int:
        """Patches side by side in time."""
        return (self.n_frames - self.patch_size) // self.time_stride + 1

    @property
    def n_bands(self) -> int:
        """Patches above each other, from low to high frequencies."""
        return (self.n_mels - self.patch_size) // self.mel_stride + 1

    @property
    def count(self) -> int:
        """Number of patches."""
        return self.n_times * self.n_bands

    def n_tokens(self, length: int | None = None) -> int:
        """T: [CLS], the distillation token, and the patches band by band. The length of the sound changes nothing."""
        return self.count + 2


@dataclass(frozen=True)
class Frames:
    """Sound as frames of numbers, of any length: each token is a linear map of one, or of what convolutions leave."""

    #: Numbers of a frame: mel bands, of several steps of time where they are side by side.
    width: int
    #: Whether a LayerNorm comes before the map.
    norm: bool = False
    #: Convolutions over time and bands before the map, each followed by ReLU. All but the first are of each channel by
    #: itself, with a map of the channels after them.
    layers: int = 0
    #: Channels of these.
    channels: int = 0
    #: Steps and bands that they see.
    kernel: int = 1
    #: Steps and bands from one place to the next.
    stride: int = 1

    def __post_init__(self) -> None:
        check_whole("width", self.width, 1)
        check_whole("layers", self.layers, 0, 16)
        check_whole("channels", self.channels, 1 if self.layers else 0, 100_000)
        check_whole("kernel", self.kernel, 1, 10_000)
        check_whole("stride", self.stride, 1, 10_000)
        check_kinds(self)
        if self.kernel % 2 == 0:
            raise ConfigError(f"kernel={self.kernel} has no middle: choose an odd number of frames.")
        check_whole("the number of bands after the convolutions", self.n_bands, 1)

    @property
    def n_bands(self) -> int:
        """Numbers of a frame for each channel after the convolutions."""
        return self.width // self.stride**self.layers

    @property
    def hop(self) -> int:
        """Frames from one token to the next."""
        return int(self.stride**self.layers)

    @property
    def reach(self) -> int:
        """The least number of frames: one, since convolutions see zeros beyond the ends."""
        return 1

    def n_tokens(self, length: int | None = None) -> int:
        """T of so many frames."""
        assert length is not None, "sounds of any length need one"
        for _ in range(self.layers):
            length = (length + 2 * (self.kernel // 2) - self.kernel) // self.stride + 1
        return length

    def flops(self, n_tokens: int, width: int) -> int:
        """Operations of the convolutions and the map for T tokens, each product and sum counted."""
        steps, work = n_tokens, 2 * n_tokens * self.n_bands * max(1, self.channels) * width
        for layer in reversed(range(self.layers)):
            places = steps * (self.width // self.stride ** (layer + 1))
            each = self.kernel**2 * self.channels + (self.channels**2 if layer else 0)
            work, steps = work + 2 * places * each, steps * self.stride
        return work


@dataclass(frozen=True)
class Convolutions:
    """Sound through convolutions over time: each token is a step of the last one."""

    #: Of the input, 1 for samples, else the bands of a log-mel spectrogram.
    channels: int
    #: Channels after each convolution.
    widths: tuple[int, ...]
    #: Steps that each convolution sees.
    kernels: tuple[int, ...]
    #: Steps from one place of each convolution to its next.
    strides: tuple[int, ...]
    #: Whether each pads its input by half a kernel.
    padded: bool = False
    #: Whether each convolution has a bias.
    bias: bool = True
    #: After each convolution.
    activation: str = "gelu"
    #: Whether the first one has a bias, by default as the others.
    first_bias: bool | None = None
    #: After the first one, by default as after the others.
    first_activation: str = ""
    #: "group", over time after the first convolution, "layer", over channels after each, "whole", over both after the
    #: first activation, or "none".
    norm: ConvolutionNorm = "none"
    #: Whether a linear map follows.
    projected: bool = False
    #: Whether a LayerNorm comes before that map.
    projection_norm: bool = False
    #: The eps of that LayerNorm; None: that of the layers.
    projection_eps: float | None = None
    #: Each token is the mean of so many steps (SEW).
    merged: int = 1
    #: The steps of every input, None for any.
    length: int | None = None

    def __post_init__(self) -> None:
        check_whole("channels", self.channels, 1)
        if not len(self.widths) == len(self.kernels) == len(self.strides) or not 1 <= len(self.widths) <= 16:
            raise ConfigError(
                f"{len(self.widths)} widths, {len(self.kernels)} kernels and {len(self.strides)} strides describe no "
                "convolutions: specify one of each for 1 to 16 convolutions."
            )
        for width, kernel, stride in zip(self.widths, self.kernels, self.strides, strict=True):
            check_whole("the width of a convolution", width, 1, 100_000)
            check_whole("the kernel of a convolution", kernel, 1, 10_000)
            check_whole("the stride of a convolution", stride, 1, 10_000)
        if self.projection_eps is not None:
            settle_eps(self, "projection_eps")
        check_whole("merged", self.merged, 1, 1_000)
        check_kinds(self)
        if self.length is not None:
            check_whole("length", self.length, 1)

    @property
    def hop(self) -> int:
        """Steps of the input from one token to the next."""
        return math.prod(self.strides) * self.merged

    @property
    def reach(self) -> int:
        """Steps of the input that one token is computed from: the least length of a sound."""
        reach = self.merged
        for kernel, stride in zip(reversed(self.kernels), reversed(self.strides), strict=True):
            reach = (reach - 1) * stride + kernel
        return reach

    def flops(self, n_tokens: int, width: int) -> int:
        """Operations of the convolutions and the projection for T tokens, each product and sum counted."""
        steps = n_tokens * self.merged
        work = 2 * steps * self.widths[-1] * width * self.projected
        sizes = list(zip((self.channels, *self.widths), self.widths, self.kernels, self.strides, strict=False))
        for before, after, kernel, stride in reversed(sizes):
            work += 2 * kernel * before * after * steps
            steps = steps * stride
        return work

    def n_tokens(self, length: int | None = None) -> int:
        """T of an input of this many steps (by default of `self.length`)."""
        steps = self.length if length is None else length
        assert steps is not None, "sounds of any length need one"
        for kernel, stride in zip(self.kernels, self.strides, strict=True):
            steps = (steps + 2 * (kernel // 2 if self.padded else 0) - kernel) // stride + 1
        return steps // self.merged
