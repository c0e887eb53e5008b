"""A PNG writer: small pictures of numbers inside an HTML page or a figure. Plotly has none without a browser.

Source of the format: ISO/IEC 15948 (PNG, third edition).
"""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np


def png(pixels: np.ndarray, palette: np.ndarray | None = None) -> bytes:
    """uint8 [h, w, 4] red, green, blue, opacity; or [h, w] with a palette uint8 [n, 3], n <= 256 -> a PNG file.

    Raises ValueError for another shape or dtype.
    """
    if pixels.dtype != np.uint8 or pixels.shape[2:] != (() if palette is not None else (4,)) or pixels.size == 0:
        wanted = "[h, w] next to a palette" if palette is not None else "[h, w, 4]"
        raise ValueError(f"pixels are {pixels.dtype} {list(pixels.shape)}: uint8 {wanted} is needed.")
    height, width = pixels.shape[:2]
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    raw = np.concatenate((np.zeros((height, 1), np.uint8), rows), axis=1).tobytes()  # a filter byte opens each row
    colour_type = 6 if palette is None else 3
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0))]
    if palette is not None:
        parts.append(_chunk(b"PLTE", np.ascontiguousarray(palette, dtype=np.uint8).tobytes()))
    parts += [_chunk(b"IDAT", zlib.compress(raw, 9)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def png_uri(pixels: np.ndarray, palette: np.ndarray | None = None) -> str:
    """`png` as a data URI, for an `<img>` or a Plotly image."""
    return "data:image/png;base64," + base64.b64encode(png(pixels, palette)).decode()


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
