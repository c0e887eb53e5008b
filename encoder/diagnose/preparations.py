"""How another program makes an encoder's input of an image or a sound: frozen values that faults change.

Without a change, the input is the model's own (`prepare`). With one, each step is written here once more, with the
choice that another library makes: how pixels are scaled, what is cut out, how a spectrogram is made.

Shapes: C channels, H height, W width, S side of the model's images, N samples, F frames, M mel bands, B bins of the
Fourier transform.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder, middle, scaled_size
from encoder.errors import EncoderError
from encoder.inputs.image_files import as_pixels, resized
from encoder.inputs.log_mel import WHISPER_FLOOR, KaldiMel, Samples, WhisperMel, slaney_filters, triangles
from encoder.inputs.sound import Sound

# --- images -----------------------------------------------------------------------------------------------------------

#: Ways to scale an image: Pillow's; torch's of whole numbers, as torchvision and fast processors have them; torch's of
#: decimal numbers; and those that only read the nearest pixels (OpenCV, canvases, shaders).
PILLOW = ("nearest", "bilinear", "bicubic", "lanczos", "box")
SCALINGS = (
    *PILLOW,
    "bilinear by torch", "bicubic by torch", "bilinear in decimals", "bicubic in decimals",
    "bilinear without antialiasing", "bicubic without antialiasing",
    "bilinear without antialiasing, rounded", "bicubic without antialiasing, rounded", "nearest by torch",
)  # fmt: skip
#: What becomes of an image that is not square: scaled to S x S; the middle of the scaled one, whose shorter side is S
#: or larger; the middle square, scaled then; the whole image between bars; another corner or middle.
Shape = Literal[
    "squashed", "cut at once", "cut after a larger scaling", "cut first", "black bars", "white bars", "mean bars",
    "top left", "another half pixel", "smoother sides",
]  # fmt: skip
SHAPES: tuple[Shape, ...] = Shape.__args__  # type: ignore[attr-defined]
#: The shorter side, where the middle of an image is its 224 of 256 pixels.
LARGER = 256 / 224
#: Means and standard deviations that programs write into their code.
USUAL_VALUES: Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "none": ((0.0,) * 3, (1.0,) * 3),
    "0.5 and 0.5": ((0.5,) * 3, (0.5,) * 3),
    "ImageNet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "CLIP": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
}


@dataclass(frozen=True)
class Pixels:
    """How an image becomes [C, S, S]. A field without a value is the model's own."""

    model: ImageEncoder = field(compare=False, repr=False)
    #: The longer side to which an image is scaled down before all else.
    first: int | None = None
    #: One of SCALINGS.
    scaling: str | None = None
    #: What becomes of an image that is not square.
    shape: Shape | None = None
    #: A name of USUAL_VALUES.
    values: str | None = None
    #: By what 0 to 255 is divided.
    divisor: float = 255.0
    #: Whether red and blue change places.
    swapped: bool = False

    def prepare(self, image: Any) -> Tensor:
        """An image of any size -> what the encoder receives, [C, S, S]. Raises ImageError."""
        if self == Pixels(self.model):
            return self.model.prepare(image)
        pixels = as_pixels(image, self.model.patches.channels, self.model.name)
        if pixels.is_floating_point():
            pixels = (pixels * 255).round().to(torch.uint8)
        if self.first is not None and max(pixels.shape[1:]) > self.first:
            share = self.first / max(pixels.shape[1:])
            height, width = (max(1, round(length * share)) for length in pixels.shape[1:])
            pixels = scaled(pixels, height, width, self.scaling or "bicubic")
        x = self.square(pixels).float() / self.divisor
        x = x.flip(0) if self.swapped else x
        mean, std = self.mean_and_std
        return (x - mean) / std

    @property
    def mean_and_std(self) -> tuple[Tensor, Tensor]:
        """[C, 1, 1] each."""
        own = self.model.preparation
        mean, std = (own.mean, own.std) if self.values is None else USUAL_VALUES[self.values]
        n = self.model.patches.channels
        return torch.tensor(mean[:n]).view(-1, 1, 1), torch.tensor(std[:n]).view(-1, 1, 1)

    def square(self, pixels: Tensor) -> Tensor:
        """uint8 [C, H, W] -> 0 to 255, [C, S, S]."""
        side, own = self.model.side, self.model.preparation
        (height, width), how = pixels.shape[1:], self.scaling or own.interpolation
        if self.shape == "cut first":
            pixels = middle(pixels, min(height, width))
            return scaled(pixels, side, side, how)
        if self.shape in ("black bars", "white bars", "mean bars"):
            share = side / max(height, width)
            pixels = scaled(pixels, max(1, round(height * share)), max(1, round(width * share)), how)
            return self.between_bars(pixels.float())
        resize: tuple[int, int] | int = own.resize or (side, side)
        if self.shape == "squashed":
            resize = (side, side)
        elif self.shape == "cut at once" or (self.shape == "top left" and own.resize is None):
            resize = side
        elif self.shape == "cut after a larger scaling":
            resize = round(side * LARGER)
        size = scaled_size(height, width, resize)
        if self.shape == "smoother sides" and isinstance(resize, int):
            size = (round(resize * height / min(height, width)), round(resize * width / min(height, width)))
        pixels = scaled(pixels, *size, how)
        if self.shape == "top left":
            return pixels[:, :side, :side]
        if self.shape == "another half pixel":
            top, left = (-(-(length - side) // 2) for length in pixels.shape[1:])
            return pixels[:, top : top + side, left : left + side]
        return middle(pixels, side)

    def between_bars(self, pixels: Tensor) -> Tensor:
        """[C, H, W] -> [C, S, S] with bars on both sides."""
        side = self.model.side
        colour = {"black bars": 0.0, "white bars": 255.0}.get(str(self.shape))
        mean = self.mean_and_std[0] * 255.0
        found = mean.expand(-1, side, side).clone() if colour is None else torch.full((len(pixels), side, side), colour)
        height, width = pixels.shape[1:]
        top, left = round((side - height) / 2), round((side - width) / 2)  # as Pillow
        found[:, top : top + height, left : left + width] = pixels
        return found


def scaled(pixels: Tensor, height: int, width: int, how: str) -> Tensor:
    """uint8 [C, H, W] -> [C, height, width], 0 to 255, in one way of SCALINGS."""
    if tuple(pixels.shape[1:]) == (height, width):
        return pixels
    if how in PILLOW:
        return resized(pixels, height, width, how)
    mode = how.split()[0]
    smooth = mode != "nearest"
    given = pixels[None] if how.endswith("by torch") else pixels[None].float()
    found = torch.nn.functional.interpolate(
        given, size=(height, width), mode=mode, align_corners=False if smooth else None,
        antialias=smooth and "without antialiasing" not in how,
    )[0]  # fmt: skip
    return found.round().clamp(0, 255) if how.endswith("rounded") else found


# --- sounds -----------------------------------------------------------------------------------------------------------

#: Choices of Whisper's spectrogram in which programs differ.
Mel = Literal[
    "natural logarithm", "decibels", "no floor", "not scaled", "magnitudes", "symmetric window", "no window",
    "not centred",
]  # fmt: skip
MELS: tuple[Mel, ...] = Mel.__args__  # type: ignore[attr-defined]
Filters = Literal["HTK", "HTK of equal area", "Slaney of equal height"]
FILTERS: tuple[Filters, ...] = Filters.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Waves:
    """How a sound becomes the model's input. A field without a value is the model's own."""

    model: AudioEncoder = field(compare=False, repr=False)
    #: Whether samples are taken as if they had the model's rate.
    any_rate: bool = False
    #: By what samples are multiplied: 32,768 where whole numbers are not divided.
    factor: float = 1.0
    #: Which filters make mel bands of frequencies (Whisper).
    filters: Filters | None = None
    #: How the spectrogram is made (Whisper).
    mel: Mel | None = None
    #: Whether silence follows the spectrogram, as 0, in place of the sound (Whisper).
    fills_late: bool = False
    #: Whether features are shifted and scaled where the model does not, or the other way round.
    other_normalisation: bool = False

    def prepare(self, sound: Any) -> Tensor:
        """A sound -> what the encoder receives. Raises SoundError."""
        if not isinstance(sound, Sound):
            raise EncoderError(f"{self.model.name} accepts sounds: open a file with encoder.open_sound.")
        if self == Waves(self.model):
            return self.model.prepare(sound)
        if self.any_rate:
            sound = Sound(sound.samples, self.model.rate)
        samples = (sound.at(self.model.rate).samples * self.factor).astype(np.float32)
        own = self.model.preparation
        if isinstance(own, WhisperMel):
            return torch.from_numpy(self.log_mel(own, samples))
        if self.other_normalisation and isinstance(own, KaldiMel):
            usual = KaldiMel()
            own = dataclasses.replace(own, mean=None if own.mean is not None else usual.mean)
        elif self.other_normalisation and isinstance(own, Samples):
            own = dataclasses.replace(own, normalised=not own.normalised)
        return torch.from_numpy(own.features(samples))

    def log_mel(self, own: WhisperMel, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        """Samples [N] -> Whisper's features [M, F] with the changes."""
        most = own.seconds * own.rate
        filled = samples[:most].astype(np.float64)
        if not self.fills_late:
            filled = np.pad(filled, (0, most - len(filled)))
        ends = own.n_fft // 2
        centred = np.pad(filled, (0, 2 * ends)) if self.mel == "not centred" else np.pad(filled, ends, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(centred, own.n_fft)[:: own.hop]
        frames = frames[: min(own.n_frames, len(filled) // own.hop)]
        window = np.hanning(own.n_fft) if self.mel == "symmetric window" else np.hanning(own.n_fft + 1)[:-1]
        size = np.abs(np.fft.rfft(frames * (1.0 if self.mel == "no window" else window)))  # [F, B]
        power = size if self.mel == "magnitudes" else size**2
        mel = np.maximum(WHISPER_FLOOR, mel_filters(self.filters, own).T @ power.T)  # [M, F]
        log = np.log(mel) if self.mel == "natural logarithm" else np.log10(mel)
        log = 10 * log if self.mel == "decibels" else log
        if self.mel != "no floor":
            log = np.maximum(log, log.max() - (80.0 if self.mel == "decibels" else 8.0))
        if self.mel not in ("not scaled", "decibels"):
            log = (log + 4.0) / 4.0
        return np.pad(log, ((0, 0), (0, own.n_frames - log.shape[1]))).astype(np.float32)


def mel_filters(kind: Filters | None, own: WhisperMel) -> NDArray[np.float64]:
    """[B, M]: triangles over the frequencies 0 to half of the rate; None: Whisper's, Slaney's of equal area."""
    own_filters = slaney_filters(own.rate, own.n_mels, own.n_fft)
    if kind is None:
        return own_filters
    if kind == "Slaney of equal height":  # each again as high as it was: its area is 2 / (its width)
        step = np.log(6.4) / 27.0
        mels = np.linspace(0.0, 15.0 + np.log(8.0) / step, own.n_mels + 2)
        edges = np.where(mels < 15.0, 200.0 * mels / 3.0, 1000.0 * np.exp(step * (mels - 15.0)))
        return own_filters * (edges[2:] - edges[:-2]) / 2.0
    top = 2595.0 * np.log10(1.0 + own.rate / 2 / 700.0)
    edges = 700.0 * (10.0 ** (np.linspace(0.0, top, own.n_mels + 2) / 2595.0) - 1.0)
    filters = triangles(np.linspace(0, own.rate // 2, own.n_fft // 2 + 1), edges)
    return filters * (2.0 / (edges[2:] - edges[:-2])) if kind == "HTK of equal area" else filters


Prepared = Pixels | Waves
