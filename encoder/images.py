"""ImageEncoder: an Encoder that reads the patches of an image (ViT), the object that `encoder.load` returns for one.

Shapes: B batch, C channels, S side of the image in pixels, P patches, T = P + 1 tokens: [CLS], then the patches row by
row from the top left.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import torch
from torch import Tensor

from encoder.capture import record
from encoder.config import EncoderConfig, NormPlacement
from encoder.edits import Edit, check_edits
from encoder.errors import EncoderError
from encoder.model import Encoder
from encoder.pipeline import OutOfMemoryExplained, rewired_encoder
from encoder.trace import Trace


@dataclass(frozen=True)
class Preparation:
    """How an image becomes what the model was trained on: (pixels / 255 - mean) / std, one mean and std a channel."""

    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    interpolation: Literal["bilinear", "bicubic", "nearest"] = "bilinear"


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """An encoder of images, ready to trace them. The encoder is in eval mode, and stays so.

    name: what a person calls it; preparation: what `prepare` does; notes: sentences about how it was loaded.
    """

    name: str
    encoder: Encoder
    preparation: Preparation = Preparation()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.encoder.eval()

    def __repr__(self) -> str:
        config = self.config
        return (
            f"<ImageEncoder {self.name}: {config.n_layers} layers x {config.n_heads} heads, width {config.d_model}, "
            f"{config.norm_placement}-norm, {config.position} positions, {self.n_parameters:,} parameters, images of "
            f"{self.side} x {self.side} pixels in {len(self.tokens):,} tokens, on {self.device}>"
        )

    @property
    def config(self) -> EncoderConfig:
        """The architecture."""
        return self.encoder.config

    @property
    def device(self) -> torch.device:
        """Where the weights are and the traces are made."""
        return self.encoder.device

    @property
    def n_parameters(self) -> int:
        """Number of weights, shared ones counted once."""
        return sum(parameter.numel() for parameter in self.encoder.parameters())

    @property
    def side(self) -> int:
        """S: the model takes images of S x S pixels."""
        assert self.config.patches is not None
        return self.config.patches.image_size

    @property
    def tokens(self) -> tuple[str, ...]:
        """The T tokens of every image: "[CLS]", then "row,column" of each patch, counted from 0 at the top left."""
        assert self.config.patches is not None
        per_side = self.config.patches.image_size // self.config.patches.patch_size
        return ("[CLS]", *(f"{row},{column}" for row in range(per_side) for column in range(per_side)))

    def prepare(self, image: Tensor) -> Tensor:
        """image [C, H, W], uint8 (0 to 255) or floating (0 to 1), of any size -> pixels [C, S, S] for `trace_image`.

        Scaled to S x S whatever its shape, then shifted and scaled as the checkpoint says. Raises EncoderError for
        another number of axes or channels.
        """
        self._check_channels(image)
        x = image.float() / 255.0 if not image.is_floating_point() else image.float()
        if tuple(x.shape[1:]) != (self.side, self.side):
            smooth = self.preparation.interpolation != "nearest"
            x = torch.nn.functional.interpolate(
                x.unsqueeze(0),
                size=(self.side, self.side),
                mode=self.preparation.interpolation,
                antialias=smooth,
                align_corners=False if smooth else None,
            )[0].clamp(0.0, 1.0)
        mean, std = (
            torch.tensor(row, device=x.device).view(-1, 1, 1) for row in (self.preparation.mean, self.preparation.std)
        )
        return (x - mean) / std

    def trace_image(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Run one image, pixels [C, S, S] as `prepare` returns them, and return its Trace; its ids are all -1."""
        self._check_channels(pixels)
        return self.trace_images(pixels.unsqueeze(0), edits=edits, request=request)[0]

    def trace_images(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> list[Trace]:
        """Run a batch, pixels [B, C, S, S], and return one Trace an image. Raises EncoderError for another shape."""
        wanted = (self.config.patches.channels if self.config.patches else 0, self.side, self.side)
        if pixels.dim() != 4 or tuple(pixels.shape[1:]) != wanted:
            raise EncoderError(
                f"These pixels have the shape {tuple(pixels.shape)}; {self.name} takes a batch of {wanted}: "
                "prepare() makes one of any image."
            )
        if self.encoder.training:
            raise EncoderError(
                "This encoder is in training mode, where dropout changes the numbers: call .eval() first."
            )
        pixels = pixels.to(device=self.device, dtype=self.encoder.dtype)
        n_tokens = len(pixels) * len(self.tokens)
        edits = tuple(edits)
        check_edits(edits, self.config.n_layers, self.config.n_heads, len(self.tokens))
        with OutOfMemoryExplained(self.device, n_tokens), record(edits, tuple(request)) as recorder, torch.no_grad():
            self.encoder(pixels)
        mask = torch.ones(len(self.tokens), dtype=torch.bool, device=self.device)
        return [
            Trace(
                encoder=self.encoder,
                tokens=self.tokens,
                labels=self.tokens,
                ids=(-1,) * len(self.tokens),
                mask=mask,
                values=MappingProxyType(
                    {
                        name: value if name == "embedding.position" else value[index]
                        for name, value in recorder.values.items()
                    }
                ),
                edits=edits,
            )
            for index in range(len(pixels))
        ]

    def with_norm_placement(self, norm_placement: NormPlacement) -> ImageEncoder:
        """The same weights with the norms moved. Not trained that way, and `notes` says so. No weight is copied."""
        if norm_placement == self.config.norm_placement:
            return self
        moved, note = rewired_encoder(self.encoder, self.name, norm_placement)
        return dataclasses.replace(self, encoder=moved, notes=(*self.notes, note))

    rewired = with_norm_placement  # the name up to 0.1; it goes in the release after the next

    def _check_channels(self, image: Tensor) -> None:
        channels = self.config.patches.channels if self.config.patches else 0
        if image.dim() != 3 or image.shape[0] != channels:
            raise EncoderError(
                f"This image has the shape {tuple(image.shape)}; {self.name} takes [{channels}, height, width]."
            )
