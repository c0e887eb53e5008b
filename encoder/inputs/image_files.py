"""Image files from anywhere -> Pillow images, and Pillow images, arrays and tensors -> pixels.

Pillow comes with Streamlit, opens all usual formats, and its resizing is the one that checkpoints were trained with.
Limits are declared here, once. A file is measured by its header before a pixel is decoded.

Shapes: C channels, H height, W width.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from encoder.errors import EncoderError
from encoder.inputs import media_file

if TYPE_CHECKING:
    from PIL.Image import Image

#: The largest file, and the most pixels of an image: 50 million take 150 MB as RGB.
MOST_BYTES, MOST_PIXELS = 20_000_000, 50_000_000
#: Pixels of another mode that become RGB or grey in one step.
PIXELS_AT_ONCE = 2_000_000
#: Formats that are opened. Pillow knows many more, which nobody needs here and few people test.
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
#: File endings of these formats.
ENDINGS = ("png", "jpg", "jpeg", "webp", "gif", "bmp")
#: A JPEG file is decoded at a fraction of its size, but no smaller than this side.
DECODED_SIDE = 1_024


class ImageError(EncoderError):
    """A file is not an image that can be opened, or too large."""


def open_picture(file: bytes | str | Path, name: str = "This file", *, every_pixel: bool = False) -> Image:
    """An image file, or its content -> an RGB or grey image, upright, on white where it is transparent.

    A large JPEG file is decoded at half its size or less, its shorter side no smaller than DECODED_SIDE, unless every
    pixel counts. Of an animation you get the first frame. Raises ImageError.
    """
    from PIL import Image, ImageOps

    file, name = media_file.content(file, name, most=MOST_BYTES, kind="image", refused=ImageError)
    with decoding(name, "an image", ", ".join(FORMATS)):
        image: Any = Image.open(io.BytesIO(file), formats=FORMATS)
        check_size(name, *image.size)
        if image.format == "JPEG" and min(image.size) > DECODED_SIDE and not every_pixel:
            scale = DECODED_SIDE / min(image.size)
            image.draft(None, tuple(-int(-side * scale // 1) for side in image.size))
        image.load()
        ImageOps.exif_transpose(image, in_place=True)  # without a copy of an image that is upright already
        return flat(image)


@contextmanager
def decoding(name: str, kind: str, usable: str) -> Iterator[None]:
    """What Pillow raises inside becomes an ImageError. name, kind: of the file; usable: formats to use instead."""
    from PIL import Image, UnidentifiedImageError

    try:
        yield
    except UnidentifiedImageError:
        raise ImageError(f"{name} is not {kind} of a known format: use {usable}.") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageError(f"{name} has too many pixels: at most {MOST_PIXELS:,} are opened. Scale it down.") from None
    except ImageError:
        raise
    except Exception as error:  # a broken file may raise anything in a decoder
        raise ImageError(
            f"{name} is damaged and cannot be decoded ({type(error).__name__}): save it again, or use another one."
        ) from None


def check_size(name: str, width: int, height: int) -> None:
    """Raise ImageError for an image without pixels, and for one with too many."""
    if width < 1 or height < 1:
        raise ImageError(f"{name} is an image without pixels: choose another one.")
    if width * height > MOST_PIXELS:
        raise ImageError(
            f"{name} has {width:,} x {height:,} pixels, and at most {MOST_PIXELS:,} are opened: scale it down."
        )


def flat(image: Image) -> Image:
    """Grey ("L") or RGB; transparent parts become white."""
    from PIL import Image

    if image.mode == "L" or (image.mode == "RGB" and "transparency" not in image.info):
        return image
    most = max(255.0, float(image.getextrema()[1])) if image.mode == "F" else 65_535.0  # type: ignore[arg-type]
    made, rows = None, max(1, PIXELS_AT_ONCE // image.width)
    for top in range(0, image.height, rows):  # some modes take 24 bytes a pixel on the way
        part = _flat_part(image.crop((0, top, image.width, min(top + rows, image.height))), most)
        made = made or Image.new(part.mode, image.size)
        made.paste(part, (0, top))
    return made or image


def _flat_part(image: Image, most: float) -> Image:
    """`flat` of some rows. most: the number that is white, where they are of more than 8 bits."""
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":  # 16 bits or more: Pillow would cut off all above 255
        numbers = np.asarray(image, dtype=np.float64)
        return Image.fromarray((numbers.clip(0, most) / most * 255).round().astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        coloured = image.convert("RGBA")
        white = Image.new("RGBA", coloured.size, "white")
        return Image.alpha_composite(white, coloured).convert("RGB")
    return image.convert("L" if image.mode == "1" else "RGB")


def as_pixels(image: Any, channels: int, name: str = "This model") -> Tensor:
    """A Pillow image, an array or a tensor -> [C, H, W], uint8 (0 to 255) or floating (0 to 1).

    Arrays may be [H, W], [H, W, C] or [C, H, W]; grey becomes three equal channels, and colour becomes grey (ITU-R
    601-2, as in Pillow), if the model needs it. Raises ImageError for another shape or kind, or a number outside.
    """
    if hasattr(image, "getbands"):  # Pillow's, without importing it for an array
        check_size("The image", *image.size)
        pixels = torch.from_numpy(np.array(flat(image)))
    elif isinstance(image, Tensor | np.ndarray):
        pixels = image.detach() if isinstance(image, Tensor) else _of_array(image)
    else:
        raise ImageError(
            f"{name} accepts an image, not {type(image).__name__}: specify a PIL image, an array or a tensor."
        )
    return _checked(_with_channels(_channels_first(pixels, channels, name), channels, name), name)


def _of_array(array: np.ndarray[Any, Any]) -> Tensor:
    try:
        # A copy where the array is read-only: torch would warn that it can write to it.
        return torch.from_numpy(np.require(array, requirements=["C", "W"]))
    except TypeError:
        raise ImageError(f"An array of {array.dtype} is not an image: specify uint8, or numbers from 0 to 1.") from None


def _channels_first(pixels: Tensor, channels: int, name: str) -> Tensor:
    if pixels.dim() == 2:
        return pixels.unsqueeze(0)
    if pixels.dim() == 3:
        known = {1, 3, channels}
        if pixels.shape[0] in known:
            return pixels
        if pixels.shape[2] in known:
            return pixels.permute(2, 0, 1)
    raise ImageError(
        f"{name} accepts an image of shape [{channels}, height, width], not {tuple(pixels.shape)}: change its axes or "
        "channels."
    )


def _with_channels(pixels: Tensor, channels: int, name: str) -> Tensor:
    if len(pixels) == channels:
        return pixels
    if len(pixels) == 1:
        return pixels.expand(channels, -1, -1)
    if len(pixels) == 3 and channels == 1:
        weights = torch.tensor([0.299, 0.587, 0.114], device=pixels.device).view(3, 1, 1)
        grey = (pixels.float() * weights).sum(0, keepdim=True)
        return grey if pixels.is_floating_point() else grey.round().to(torch.uint8)
    raise ImageError(f"{name} accepts {channels} channels, not {len(pixels)}: change the image's channels.")


def _checked(pixels: Tensor, name: str) -> Tensor:
    """The pixels as uint8 or float32. Raises ImageError for none, too many, or numbers outside of the range."""
    check_size("The image", pixels.shape[2], pixels.shape[1])
    if pixels.dtype == torch.uint8:
        return pixels
    if pixels.is_complex():
        raise ImageError("Complex numbers are not an image: specify uint8, or numbers from 0 to 1.")
    if not pixels.is_floating_point():
        pixels = pixels.long()  # torch has no minimum of uint16
        if int(pixels.min()) < 0 or int(pixels.max()) > 255:
            raise ImageError(f"{name} accepts whole numbers from 0 to 255: scale the image.")
        return pixels.to(torch.uint8)
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0.0 and high <= 1.0):  # NaN fails, too
        raise ImageError(f"{name} accepts numbers from 0 to 1, not {low:g} to {high:g}: scale the image.")
    return pixels.float()


def resized(pixels: Tensor, height: int, width: int, interpolation: str) -> Tensor:
    """[C, H, W] -> [C, height, width], uint8 or float32 as before, by Pillow, channel by channel, as processors of
    checkpoints do."""
    from PIL import Image

    how = Image.Resampling[interpolation.upper()]
    scaled = [Image.fromarray(one.cpu().numpy()).resize((width, height), how) for one in pixels]
    return torch.stack([torch.from_numpy(np.array(one)) for one in scaled])
