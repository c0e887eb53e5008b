"""How arrays travel to the browser: one block of bytes, read there without a copy.

    uint32 n | n bytes of JSON | buffers, each at a multiple of 8

The JSON is the caller's header with one more key, `arrays`: name -> {dtype, shape, offset}; offsets count from the end
of the JSON. All numbers are little-endian, arrays are in row-major order. `shared.js` has the reader.

The safetensors format would hold the header as a JSON string inside JSON. Measured with `safetensors.numpy.save`: the
large map of 64 tokens takes 27,312 bytes instead of 25,688 (compressed 17,871 instead of 17,693) and 130 us instead of
121. The small maps of 72 heads take 295,928 bytes instead of 295,880, in the same 30 us. So this format stays.
"""

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

ALIGNMENT = 8
# What a browser's typed arrays can view in place. Not float16, which some browsers lack, and not int64, which becomes
# BigInt: no drawing library takes it.
DTYPES = ("float32", "float64", "uint8", "uint16", "int32")


def pack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """Header and arrays as one block of bytes.

    header: JSON values; `arrays` is reserved. arrays: name -> array of any shape, in one of `DTYPES`. Raises ValueError
    for a header with the reserved key, NaN or infinity; TypeError for another dtype, or a value that is not JSON.
    """
    if "arrays" in header:
        raise ValueError("The header's key 'arrays' is taken by the wire format; use another name.")
    table: dict[str, dict[str, Any]] = {}
    buffers: list[bytes] = []
    offset = 0
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise TypeError(
                f"Array {name!r} is {array.dtype.name}; the browser accepts {', '.join(DTYPES)}. Use .astype()."
            )
        raw = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        table[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        padding = -len(raw) % ALIGNMENT
        buffers += [raw, b"\0" * padding]
        offset += len(raw) + padding
    text = json.dumps({**header, "arrays": table}, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(4 + len(text)) % ALIGNMENT)  # so that the first buffer is aligned, too
    return b"".join([struct.pack("<I", len(text)), text, *buffers])
