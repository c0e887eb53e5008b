"""ImageEncoder: an Encoder of the patches of an image (ViT). `encoder.load` returns it for such a checkpoint.

Shapes: B batch, C channels, S side of the image in pixels, P patches, T = P + 1 tokens: [CLS], then the patches row by
row from the top left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from encoder.config import Patches
from encoder.edits import Edit
from encoder.errors import EncoderError
from encoder.named_encoder import NamedEncoder
from encoder.trace import Trace

Interpolation = Literal["bilinear", "bicubic", "nearest"]


@dataclass(frozen=True)
class Preparation:
    """How an image becomes the model's input: (pixels / 255 - mean) / std, one mean and one std for each channel."""

    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    interpolation: Interpolation = "bilinear"


@dataclass(frozen=True, eq=False, repr=False)
class ImageEncoder(NamedEncoder):
    """An encoder of images, ready to trace them. preparation: what `prepare` does."""

    preparation: Preparation = Preparation()

    def _inputs(self) -> str:
        return f"images of {self.side} x {self.side} pixels in {len(self.tokens):,} tokens"

    @property
    def patches(self) -> Patches:
        """Sizes of the images and patches."""
        assert self.config.patches is not None, "an ImageEncoder has patches"
        return self.config.patches

    @property
    def side(self) -> int:
        """S: the model takes images of S x S pixels."""
        return self.patches.image_size

    @property
    def tokens(self) -> tuple[str, ...]:
        """The T tokens of every image: "[CLS]", then "row,column" of each patch, counted from 0 at the top left."""
        per_side = self.patches.image_size // self.patches.patch_size
        return ("[CLS]", *(f"{row},{column}" for row in range(per_side) for column in range(per_side)))

    def prepare(self, image: Tensor) -> Tensor:
        """image [C, H, W] of any size, uint8 (0 to 255) or floating (0 to 1) -> pixels [C, S, S] for `trace_image`.

        The image is scaled to S x S whatever its shape, then shifted and scaled as the checkpoint says. Raises
        EncoderError for another number of axes or channels.
        """
        self._check_channels(image)
        x = image.float() if image.is_floating_point() else image.float() / 255.0
        if tuple(x.shape[1:]) != (self.side, self.side):
            smooth = self.preparation.interpolation != "nearest"
            x = torch.nn.functional.interpolate(
                x.unsqueeze(0),
                size=(self.side, self.side),
                mode=self.preparation.interpolation,
                antialias=smooth,
                align_corners=False if smooth else None,
            )[0].clamp(0.0, 1.0)
        mean = torch.tensor(self.preparation.mean, device=x.device).view(-1, 1, 1)
        std = torch.tensor(self.preparation.std, device=x.device).view(-1, 1, 1)
        return (x - mean) / std

    def trace_image(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Run one image, pixels [C, S, S] from `prepare`, and return its Trace. All its ids are -1."""
        self._check_channels(pixels)
        return self.trace_images(pixels.unsqueeze(0), edits=edits, request=request)[0]

    def trace_images(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> list[Trace]:
        """Run a batch, pixels [B, C, S, S], and return one Trace for each image.

        Raises EncoderError for another shape, and for edits or a request that do not fit.
        """
        shape = (self.patches.channels, self.side, self.side)
        if pixels.dim() != 4 or tuple(pixels.shape[1:]) != shape:
            raise EncoderError(
                f"{self.name} takes a batch of images of shape {shape}, not {tuple(pixels.shape)}: call prepare()."
            )
        pixels = pixels.to(device=self.device, dtype=self.encoder.dtype)
        tokens = self.tokens
        applied = self._resolved(edits)
        recorded = self._recorded(pixels, n_tokens=len(tokens), edits=applied, request=request)
        return [
            Trace(
                encoder=self.encoder,
                tokens=tokens,
                labels=tokens,
                ids=(-1,) * len(tokens),
                mask=torch.ones(len(tokens), dtype=torch.bool, device=self.device),
                values=values,
                edits=tuple(edits),
                applied=applied,
            )
            for values in recorded
        ]

    def _check_channels(self, image: Tensor) -> None:
        channels = self.patches.channels
        if image.dim() != 3 or image.shape[0] != channels:
            raise EncoderError(
                f"{self.name} takes an image of shape [{channels}, height, width], not {tuple(image.shape)}: change "
                "its axes or channels."
            )
