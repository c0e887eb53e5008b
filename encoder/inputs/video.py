"""Videos: their frames as a frozen value, which of them a model of so many frames gets, the files they come from.

A file is an animation that Pillow opens (GIF, WebP, PNG) or a TIFF of several pages. A folder has images, which are in
the order of their names. Films (MP4) need a decoder that is not part of this program. Limits are declared here, once.

Shapes: N frames, H height, W width, C channels.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoder.inputs import image_files, media_file
from encoder.inputs.image_files import MOST_BYTES, ImageError

#: The most frames of a file or a folder, and their pixels together: 200 million take 600 MB as RGB.
MOST_FRAMES, MOST_PIXELS = 2_000, 200_000_000
#: Formats with several frames.
FORMATS = ("GIF", "WEBP", "PNG", "TIFF")
#: File endings of one file with several frames.
ENDINGS = ("gif", "webp", "png", "apng", "tif", "tiff")


@dataclass(frozen=True, eq=False)
class Video:
    """The frames of a video, in their order: images as `image_files.as_pixels` accepts them.

    Raises ImageError for none.
    """

    frames: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.frames:
            raise ImageError("This video has no frames: specify one image or more.")

    def __len__(self) -> int:
        return len(self.frames)

    def __repr__(self) -> str:
        return f"<Video of {len(self)} frames>"


def sampled(n_frames: int, count: int) -> tuple[int, ...]:
    """Which of a video's frames a model of `count` frames gets: frame floor(i N / count) for each i.

    So transformers samples. Of a shorter video, frames come twice or more often; there transformers refuses.
    """
    return tuple(index * n_frames // count for index in range(count))


def as_video(given: Any, name: str = "This model") -> Video:
    """A Video, an array or tensor [N, H, W], [N, H, W, C] or [N, C, H, W], or a sequence of images.

    Raises ImageError for anything else.
    """
    if isinstance(given, Video):
        return given
    if isinstance(given, np.ndarray | torch.Tensor):
        if given.ndim in (3, 4) and not (given.ndim == 3 and given.shape[-1] == 3):
            return Video(tuple(given))
        raise ImageError(
            f"{name} accepts the frames of a video, [frames, height, width, 3], not {tuple(given.shape)}: stack them."
        )
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return Video(tuple(given))
    raise ImageError(
        f"{name} accepts the frames of a video, not {type(given).__name__}: specify a list of images or an array."
    )


def open_video(file: bytes | str | Path, count: int, name: str = "This file") -> Video:
    """An animation, a TIFF, their content, or a folder of images -> `sampled` frames, `count` or fewer.

    Raises ImageError for a file of another kind, a damaged one, and one over the limits.
    """
    if isinstance(file, str | Path) and os.path.isdir(file):
        return of_pictures(in_order(Path(file)), count)
    from PIL import Image

    content, name = media_file.content(file, name, most=MOST_BYTES, kind="video", refused=ImageError)
    with image_files.decoding(name, "a video", f"{', '.join(FORMATS)}, or a folder of images"):
        image: Any = Image.open(io.BytesIO(content), formats=(*FORMATS, "JPEG", "BMP"))
        n_frames = int(getattr(image, "n_frames", 1))
        image_files.check_size(name, *image.size)
        _check_length(name, n_frames, image.width * image.height * n_frames)
        frames = []
        for index in _chosen(n_frames, count):
            image.seek(index)
            image_files.check_size(name, *image.size)  # pages of a TIFF differ
            frames.append(np.array(image_files.flat(image)))
        return Video(tuple(frames))


def of_pictures(files: Sequence[bytes | str | Path], count: int) -> Video:
    """Image files, or their content, one for each frame -> `sampled` frames. Raises ImageError."""
    _check_length("This video", len(files), 0)
    frames, pixels = [], 0
    for index in _chosen(len(files), count):
        frames.append(np.array(image_files.open_picture(files[index], f"Frame {index}")))
        pixels += frames[-1].shape[0] * frames[-1].shape[1]
        _check_length("This video", len(files), pixels)
    return Video(tuple(frames))


def in_order(folder: Path) -> list[Path]:
    """The image files of a folder by their names, numbers in them by their value. Raises ImageError for none."""
    try:
        found = [path for path in folder.iterdir() if path.suffix.lower().lstrip(".") in image_files.ENDINGS]
    except OSError as error:
        raise ImageError(f"{folder.name} cannot be read ({error.strerror}): check its permissions.") from None
    if not found:
        raise ImageError(f"{folder.name} has no images: put the frames there as {', '.join(image_files.ENDINGS)}.")
    return sorted(found, key=lambda path: by_number(path.name))


def by_number(name: str) -> list[tuple[int, str]]:
    """A key of names in which frame 2 comes before frame 10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name.lower()) if part]


def _chosen(n_frames: int, count: int) -> list[int]:
    """`sampled`, each frame once."""
    return sorted({*sampled(n_frames, count)})


def _check_length(name: str, n_frames: int, pixels: int) -> None:
    if n_frames > MOST_FRAMES:
        raise ImageError(f"{name} has {n_frames:,} frames, and at most {MOST_FRAMES:,} are opened: cut it.")
    if pixels > MOST_PIXELS:
        raise ImageError(
            f"The frames of {name} have {pixels:,} pixels, and at most {MOST_PIXELS:,} are opened: scale them down."
        )
