"""VideoEncoder: an Encoder of the tubelets of a video (VideoMAE, V-JEPA 2). `encoder.load` returns it.

Shapes: B batch, F frames of the model, C channels, S side of a frame in pixels, T tokens: tubelets, time step by time
step, each step row by row from the top left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from encoder.edits import Edit
from encoder.encoders.image import Preparation, as_bytes, prepared, unnormalised
from encoder.encoders.signal import SignalEncoder
from encoder.errors import EncoderError
from encoder.inputs import image_files
from encoder.inputs.layout import InputKind, TubeletGrid
from encoder.inputs.video import Video, as_video, open_video, sampled
from encoder.model.config import Patches
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class VideoEncoder(SignalEncoder):
    """An encoder of videos, ready to trace them. preparation: what `prepare` does with each frame."""

    preparation: Preparation = field(default_factory=Preparation)
    takes: ClassVar[InputKind] = "video"

    def _inputs(self) -> str:
        return f"videos of {self.patches.frames} frames of {self.side} x {self.side} pixels"

    @property
    def patches(self) -> Patches:
        """Sizes of the frames, patches and tubelets."""
        assert self.config.patches is not None, "a VideoEncoder has patches"
        return self.config.patches

    @property
    def side(self) -> int:
        """S: the model accepts frames of S x S pixels."""
        return self.patches.image_size

    @cached_property
    def layout(self) -> TubeletGrid:
        """The tubelets, the same for every video."""
        shape = self.patches
        return TubeletGrid.of(shape.steps, shape.side, shape.patch_size, shape.tubelet)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The T tokens of every video: "f0-1 r3 c5" for a patch of the frames 0 and 1."""
        return self.layout.tokens

    def open(self, file: bytes | str | Path) -> Video:
        """An animation (GIF, WebP, PNG, TIFF), its content, or a folder of images -> its frames, as many as the model
        accepts. Raises ImageError."""
        return open_video(file, self.patches.frames)

    def prepare(self, video: Any) -> Tensor:
        """Frames (`video.as_video`) -> pixels [F, C, S, S].

        Of N frames the model gets those of the numbers floor(i N / F), each prepared as an ImageEncoder prepares an
        image. Raises ImageError for what is not a video of this model.
        """
        frames, channels = as_video(video, self.name).frames, self.patches.channels
        chosen = sampled(len(frames), self.patches.frames)
        found = {
            index: prepared(image_files.as_pixels(frames[index], channels, self.name), self.preparation, self.side)
            for index in {*chosen}
        }
        return torch.stack([found[index] for index in chosen])

    def shown(self, video: Any) -> Tensor:
        """What the model sees of a video, [F, C, S, S] from 0 to 1: sampled, scaled and cut, but not normalised."""
        return unnormalised(self.prepare(video).cpu(), self.preparation)

    def sheet(self, video: Any) -> Tensor:
        """The first frame of each time step, side by side as in `layout`, [C, rows, columns] in pixels, from 0 to 1.

        A rest of a frame that belongs to no patch is left out.
        """
        shape, grid = self.patches, self.layout
        side = shape.side * shape.patch_size
        first = self.shown(video)[:: shape.tubelet, :, :side, :side][: shape.steps]  # [steps, C, side, side]
        across = grid.columns // grid.side
        tiles = first.reshape(-1, across, shape.channels, side, side).permute(2, 0, 3, 1, 4)
        return tiles.reshape(shape.channels, -1, across * side)

    def picture(self, given: Any) -> np.ndarray:
        """`sheet` as uint8 [H, W, 3]."""
        return as_bytes(self.sheet(given))

    def trace(self, video: Any, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Run one video of any length and size (`prepare`) and return its Trace. Its tokens are tubelets, its ids -1.

        `edits` change the forward pass (encoder.edits); `request` records more hook points (capture.ON_REQUEST).
        Raises ImageError for what is not a video, EncoderError for edits or a request that do not fit, OutOfMemory.
        """
        return self.trace_pixels(self.prepare(video), edits=edits, request=request)

    def trace_pixels(self, pixels: Tensor, *, edits: Sequence[Edit] = (), request: Sequence[str] = ()) -> Trace:
        """Like `trace`, for pixels [F, C, S, S] from `prepare`. Raises EncoderError for another shape."""
        shape = (self.patches.frames, self.patches.channels, self.side, self.side)
        if tuple(pixels.shape) != shape:
            raise EncoderError(
                f"{self.name} accepts pixels of shape {shape}, not {tuple(pixels.shape)}: call prepare()."
            )
        given = pixels.unsqueeze(0).to(device=self.device, dtype=self.encoder.dtype)
        return self._traces(given, self.layout, edits, request)[0]
