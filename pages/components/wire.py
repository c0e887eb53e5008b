"""How arrays travel to the browser: one block of bytes, read there without a copy.

    uint32 n | n bytes of JSON | buffers, each at a multiple of 8

The JSON is the caller's header with one key more, `arrays`: name -> {dtype, shape, offset}, the offset counted from the
end of the JSON. All numbers are little-endian and arrays are in row-major order. `shared.js` holds the reader.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

ALIGNMENT = 8
# What a browser's typed arrays can view in place. float16 and int64 are missing on purpose: the first has no typed
# array everywhere, and the second becomes BigInt, which no drawing library takes.
DTYPES = ("float32", "float64", "uint8", "uint16", "int32")


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Header and arrays as one block of bytes.

    Args:
        header: anything that JSON can say; `arrays` is reserved.
        arrays: name -> array of any shape, in one of `DTYPES`.

    Raises:
        ValueError: a header with the reserved key, or one that holds NaN or infinity, which JSON cannot say.
        TypeError: an array of another dtype, or a header that JSON cannot say.
    """
    if "arrays" in header:
        raise ValueError("The header's key 'arrays' is taken by the wire format; use another name.")
    table: dict[str, dict[str, Any]] = {}
    buffers: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise TypeError(
                f"Array {name!r} is {array.dtype.name}; the browser takes {', '.join(DTYPES)}. Use .astype()."
            )
        raw = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        table[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        padding = -len(raw) % ALIGNMENT
        buffers += [raw, b"\0" * padding]
        offset += len(raw) + padding
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % ALIGNMENT)  # so that the first buffer is aligned, too
    return b"".join([struct.pack("<I", len(text)), text, *buffers])


def unpack(block: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a block: what the browser does, for tests and for reading a recorded message."""
    (length,) = struct.unpack_from("<I", block)
    header = json.loads(block[4 : 4 + length])
    body = memoryview(block)[4 + length :]
    arrays = {}
    for name, entry in header.pop("arrays").items():
        dtype = np.dtype(entry["dtype"]).newbyteorder("<")
        count = int(np.prod(entry["shape"], dtype=np.int64))
        arrays[name] = np.frombuffer(body, dtype, count, entry["offset"]).reshape(entry["shape"])
    return header, arrays
