"""Image files and arrays on their way to pixels; broken and hostile ones get a sentence."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zlib
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image

from encoder.inputs import image_files
from encoder.inputs.image_files import DECODED_SIDE, MOST_BYTES, ImageError, as_pixels, open_picture

COLOURS = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)


def written(image: Image.Image, kind: str = "PNG", **options) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_that_says(width: int, height: int) -> bytes:
    """A PNG file of a few bytes whose header names any size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000)))


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP", "JPEG"])
def test_formats(kind: str):
    found = open_picture(written(Image.fromarray(COLOURS), kind))
    assert found.size == (60, 40)
    assert found.mode == "RGB"


def test_transparent_parts_are_white():
    clear = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    assert np.array(open_picture(written(clear))).min() == 255


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16", "I", "P", "1", "CMYK", "RGB"])
def test_rows_become_flat_a_few_at_a_time(mode: str, monkeypatch: pytest.MonkeyPatch):
    numbers = np.random.default_rng(1).integers(0, 256, (37, 23, 4), dtype=np.uint8)
    if mode.startswith("I"):
        image = Image.fromarray(numbers[..., 0].astype(np.uint16 if mode == "I;16" else np.int32) * 200)
    else:
        image = Image.fromarray(numbers, "CMYK" if mode == "CMYK" else "RGBA").convert(mode)
    whole = image_files.flat(image)
    assert whole.mode in ("L", "RGB")
    monkeypatch.setattr(image_files, "PIXELS_AT_ONCE", 100)
    np.testing.assert_array_equal(np.array(image_files.flat(image)), np.array(whole))


def test_an_image_of_a_camera_is_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # rotated by a quarter
    assert open_picture(written(Image.fromarray(COLOURS), "JPEG", exif=exif)).size == (40, 60)


def test_sixteen_bits_keep_their_contrast():
    ramp = np.linspace(0, 65_535, 64).astype(np.uint16).reshape(8, 8)
    found = np.array(open_picture(written(Image.fromarray(ramp))))
    assert found.min() == 0
    assert found.max() == 255
    assert len(np.unique(found)) == 64


def test_a_large_photo_is_decoded_smaller():
    photo = open_picture(written(Image.new("RGB", (4000, 3000), "teal"), "JPEG"))
    assert DECODED_SIDE <= min(photo.size) < 3000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (bytes(100), "not an image"),
        (b"%PDF-1.7 no image at all", "not an image"),
        (b"\x89PNG\r\n\x1a\n", "not an image|damaged"),
        (png_that_says(30_000, 30_000), "pixels"),
        (png_that_says(10_000, 6_000), "pixels"),
        (bytes(MOST_BYTES + 1), "MB"),
    ],
    ids=["empty", "zeros", "text", "a signature only", "30,000 x 30,000", "60 million pixels", "too many bytes"],
)
def test_what_is_no_image(content: bytes, message: str):
    with pytest.raises(ImageError, match=message):
        open_picture(content, "that.png")


def test_five_hundred_broken_files_take_little_memory():
    good = [written(Image.fromarray(COLOURS), kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "WEBP")]
    rng = random.Random(0)
    tracemalloc.start()
    refused = 0
    for index in range(500):
        content = bytearray(good[index % len(good)])
        if index % 2:
            content = content[: rng.randrange(len(content))]
        for _ in range(rng.randrange(8)):
            if content:
                content[rng.randrange(min(len(content), 64 if index % 3 else len(content)))] = rng.randrange(256)
        try:
            open_picture(bytes(content))
        except ImageError:
            refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > 200
    assert peak < 300_000_000


def test_a_file_that_is_not_there(tmp_path):
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(ImageError, match="No file"):
            open_picture(path)


@pytest.mark.parametrize(
    "form",
    [
        lambda image: Image.fromarray(image),
        lambda image: image,
        lambda image: image.transpose(2, 0, 1),
        lambda image: torch.from_numpy(image),
        lambda image: image.astype(np.int64),
        lambda image: image / 255.0,
    ],
    ids=["Pillow", "array", "channels first", "tensor", "whole numbers", "floating"],
)
def test_one_image_in_many_forms(form: Callable):
    expected = torch.from_numpy(COLOURS).permute(2, 0, 1)
    found = as_pixels(form(COLOURS), 3)
    if found.is_floating_point():
        found = (found * 255).round().to(torch.uint8)
    assert torch.equal(found, expected)


def test_grey_and_colour():
    grey = np.array(Image.fromarray(COLOURS).convert("L"))
    assert abs(as_pixels(COLOURS, 1)[0].numpy().astype(int) - grey).max() <= 1
    assert torch.equal(as_pixels(grey, 3)[2], torch.from_numpy(grey))


@pytest.mark.parametrize(
    "image",
    [
        None, "a path", [[0]], np.zeros((2, 3, 4, 5)), np.zeros((5, 5, 7)), np.zeros((0, 8)), np.array([["a"]]),
        np.full((8, 8), np.nan), np.full((8, 8), 2.0), np.full((8, 8), -1), np.zeros((8, 8), dtype=complex),
    ],
    ids=lambda image: f"{type(image).__name__}{getattr(image, 'shape', '')}",
)  # fmt: skip
def test_what_cannot_be_an_image(image: object):
    with pytest.raises(ImageError):
        as_pixels(image, 3)


@pytest.mark.filterwarnings("error")
def test_a_read_only_array_is_copied_without_a_warning():
    image = COLOURS.copy()
    image.flags.writeable = False
    found = as_pixels(image, 3)
    found[:] = 0
    assert image.any()


def test_whole_numbers_of_any_type():
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    for kind in (np.uint16, np.int32, np.uint64):
        assert torch.equal(as_pixels(grey.astype(kind), 1), torch.from_numpy(grey)[None])
    with pytest.raises(ImageError, match="0 to 255"):
        as_pixels(np.full((8, 8), 60_000, dtype=np.uint16), 1)


@pytest.mark.parametrize("file", [None, 5, io.BytesIO(b"x")])
def test_what_is_no_file(file: object):
    with pytest.raises(ImageError, match=type(file).__name__):
        open_picture(file)  # type: ignore[arg-type]
