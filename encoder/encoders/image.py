"""ImageEncoder: an Encoder of the patches of an image (ViT). `encoder.load` returns it for such a checkpoint.

Shapes: B batch, C channels, S side of the image in pixels, P patches, T tokens: the special tokens ([CLS]), then the
patches row by row from the top left.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from encoder.edits import Edit
from encoder.encoders.signal import SignalEncoder
from encoder.errors import ConfigError, EncoderError, quoted
from encoder.inputs import image_files
from encoder.inputs.layout import InputKind, PatchGrid
from encoder.model.config import Patches
from encoder.trace.trace import Trace

#: The largest mean or std of pixels, which are between 0 and 1; one over it is the smallest std.
MOST = 1e6
Interpolation = Literal["bilinear", "bicubic", "nearest", "box", "lanczos"]


@dataclass(frozen=True)
class Preparation:
    """How an image becomes the model's input: (pixels / 255 - mean) / std, one mean and one std for each channel.

    padded: whether zeros are added at the right or below first, up to a square (OWLv2); smoothed: whether it is then
    scaled as scikit-image does, by a Gaussian filter and a bilinear map, whatever `interpolation` says.
    resize: (height, width) to which the image is scaled, or the length of its shorter side, which keeps its shape;
    None: S x S. Then the S x S pixels in its middle are cut out, with zeros around a smaller image.
    Raises ConfigError for a mean or std that makes pixels infinite, NaN or so large that a layer overflows.
    """

    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    interpolation: Interpolation = "bilinear"
    resize: tuple[int, int] | int | None = None
    padded: bool = False
    smoothed: bool = False

    def __post_init__(self) -> None:
        if not all(abs(one) <= MOST for one in self.mean):
            raise ConfigError(f"mean={quoted(self.mean)} is out of range: choose numbers up to {MOST:g}.")
        if not all(1 / MOST <= one <= MOST for one in self.std):
            raise ConfigError(f"std={quoted(self.std)} is out of range: choose numbers from {1 / MOST:g} to {MOST:g}.")


def scaled_to(pixels: Tensor, height: int, width: int, interpolation: Interpolation) -> Tensor:
    """[C, H, W] -> [C, height, width]: whole numbers by Pillow, others by torch, which has no Lanczos. Raises
    ImageError for too many pixels."""
    if tuple(pixels.shape[1:]) == (height, width):
        return pixels
    image_files.check_size("The scaled image", width, height)
    if not pixels.is_floating_point():
        return image_files.resized(pixels, height, width, interpolation)
    if interpolation == "lanczos":
        return image_files.resized(pixels, height, width, interpolation).clamp(0.0, 1.0)
    how = {"box": "area"}.get(interpolation, interpolation)
    smooth = how in ("bilinear", "bicubic")
    return torch.nn.functional.interpolate(
        pixels.unsqueeze(0), size=(height, width), mode=how, antialias=smooth, align_corners=False if smooth else None
    )[0].clamp(0.0, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class ImageEncoder(SignalEncoder):
    """An encoder of images, ready to trace them. preparation: what `prepare` does."""

    preparation: Preparation = Preparation()
    takes: ClassVar[InputKind] = "image"

    def _inputs(self) -> str:
        return f"images of {self.side} x {self.side} pixels in {len(self.tokens):,} tokens"

    @property
    def patches(self) -> Patches:
        """Sizes of the images and patches."""
        assert self.config.patches is not None, "an ImageEncoder has patches"
        return self.config.patches

    @property
    def side(self) -> int:
        """S: the model accepts images of S x S pixels."""
        return self.patches.image_size

    @property
    def layout(self) -> PatchGrid:
        """The grid of patches, the same for every image."""
        per_side = self.patches.image_size // self.patches.patch_size
        names = {"cls": "[CLS]", "distillation": "[DIST]", "registers": "[REG{}]", "detection": "[DET{}]"}
        before = (names[kind].format(index) for kind, count in self.patches.special.items() for index in range(count))
        return PatchGrid(per_side, per_side, self.patches.patch_size, tuple(before))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The T tokens of every image: "[CLS]", then "r3 c5" for each patch, counted from 0 at the top left."""
        return self.layout.tokens

    def open(self, file: bytes | str | Path) -> Any:
        """An image file, or its content -> a Pillow image. Raises ImageError."""
        return image_files.open_picture(file)

    def prepare(self, image: Any) -> Tensor:
        """A Pillow image, array or tensor of any size (`pictures.as_pixels`) -> pixels [C, S, S] for `trace_image`.

        The image is scaled and cut as the checkpoint says, then shifted and scaled by mean and std. Whole numbers are
        scaled by Pillow, as the checkpoint's own processor does, others by torch. Raises ImageError for what is not an
        image of this model.
        """
        pixels = image_files.as_pixels(image, self.patches.channels, self.name)
        return prepared(pixels, self.preparation, self.side)

    def shown(self, image: Any) -> Tensor:
        """What the model sees of an image, [C, S, S] from 0 to 1: scaled and cut, but not normalised."""
        return unnormalised(self.prepare(image).cpu(), self.preparation)

    def picture(self, given: Any) -> np.ndarray:
        """`shown` as uint8 [H, W, 3]."""
        return as_bytes(self.shown(given))

    def trace(self, image: Any, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Run one image of any size (`prepare`) and return its Trace. Its tokens are patches, its ids -1.

        `edits` change the forward pass (encoder.edits); `request` records more hook points (capture.ON_REQUEST).
        Raises ImageError for what is not an image, EncoderError for edits or a request that do not fit, OutOfMemory.
        """
        return self.trace_image(self.prepare(image), edits=edits, request=request)

    def trace_image(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Like `trace`, for pixels [C, S, S] from `prepare`."""
        channels = self.patches.channels
        if pixels.dim() != 3 or pixels.shape[0] != channels:
            raise EncoderError(
                f"{self.name} accepts an image of shape [{channels}, height, width], not {tuple(pixels.shape)}: change "
                "its axes or channels."
            )
        return self.trace_images(pixels.unsqueeze(0), edits=edits, request=request)[0]

    def trace_images(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> list[Trace]:
        """Run a batch, pixels [B, C, S, S] from `prepare`, and return one Trace for each image.

        Raises EncoderError for another shape, and for edits or a request that do not fit.
        """
        shape = (self.patches.channels, self.side, self.side)
        if pixels.dim() != 4 or tuple(pixels.shape[1:]) != shape:
            raise EncoderError(
                f"{self.name} accepts a batch of images of shape {shape}, not {tuple(pixels.shape)}: call prepare()."
            )
        pixels = pixels.to(device=self.device, dtype=self.encoder.dtype)
        return self._traces(pixels, self.layout, edits, request)


def prepared(pixels: Tensor, preparation: Preparation, side: int) -> Tensor:
    """Pixels [C, H, W] of `image_files.as_pixels` -> the model's input [C, side, side]."""
    pixels = middle(_resized(pixels, preparation, side), side)
    x = pixels if pixels.is_floating_point() else pixels.float() / 255.0
    mean = torch.tensor(preparation.mean, device=x.device).view(-1, 1, 1)
    std = torch.tensor(preparation.std, device=x.device).view(-1, 1, 1)
    return (x - mean) / std


def as_bytes(pixels: Tensor) -> np.ndarray:
    """Pixels [1 or 3, H, W] from 0 to 1 -> uint8 [H, W, 3]."""
    found: np.ndarray = (pixels.expand(3, -1, -1).permute(1, 2, 0).numpy() * 255).round().astype(np.uint8)
    return found


def unnormalised(x: Tensor, preparation: Preparation) -> Tensor:
    """The model's input [..., C, S, S] -> pixels from 0 to 1."""
    mean, std = (torch.tensor(one).view(-1, 1, 1) for one in (preparation.mean, preparation.std))
    return (x * std + mean).clamp(0.0, 1.0)


def _resized(pixels: Tensor, preparation: Preparation, side: int) -> Tensor:
    """[C, H, W] -> [C, H', W'], scaled as the checkpoint says."""
    if preparation.padded:
        pixels = squared(pixels)
    height, width = pixels.shape[1:]
    wanted = scaled_size(height, width, preparation.resize or (side, side))
    if preparation.smoothed:
        return smoothed(pixels, *wanted)
    return scaled_to(pixels, *wanted, preparation.interpolation)


def scaled_size(height: int, width: int, resize: tuple[int, int] | int) -> tuple[int, int]:
    """(height, width) to which an image is scaled: `Preparation.resize`, not None.

    As in transformers, the longer side is cut to a whole number.
    """
    if not isinstance(resize, int):
        return resize
    sides = (resize, int(resize * max(height, width) / min(height, width)))
    return sides if height <= width else (sides[1], sides[0])


def squared(pixels: Tensor) -> Tensor:
    """[C, H, W] -> a square, with zeros at the right or below."""
    height, width = pixels.shape[1:]
    side = max(height, width)
    image_files.check_size("The image as a square", side, side)
    return torch.nn.functional.pad(pixels, (0, side - width, 0, side - height))


def smoothed(pixels: Tensor, height: int, width: int) -> Tensor:
    """[C, H, W] -> [C, height, width], from 0 to 1: a Gaussian filter against aliasing, then bilinear, as scikit-image
    scales."""
    from scipy import ndimage

    image_files.check_size("The scaled image", width, height)
    x = pixels.double().cpu().numpy() / (1.0 if pixels.is_floating_point() else 255.0)
    factors = [1.0, x.shape[1] / height, x.shape[2] / width]
    spread = [max(0.0, (one - 1.0) / 2.0) for one in factors]
    blurred = ndimage.gaussian_filter(x, spread, mode="mirror")
    found = ndimage.zoom(blurred, [1.0 / one for one in factors], order=1, mode="mirror", grid_mode=True)
    return torch.from_numpy(found.clip(x.min(), x.max())).float().to(pixels.device)


def middle(pixels: Tensor, side: int) -> Tensor:
    """[C, H, W] -> the side x side pixels in the middle, zeros where the image is smaller."""
    height, width = pixels.shape[1:]
    if (height, width) == (side, side):
        return pixels
    more = [max(0, side - length) for length in (width, height)]
    padding = [part for length in more for part in ((length + 1) // 2, length // 2)]
    pixels = torch.nn.functional.pad(pixels, padding)
    top, left = ((length - side) // 2 for length in pixels.shape[1:])
    return pixels[:, top : top + side, left : left + side]
