"""Files of traces with changed bytes, headers and values: refused when they are opened, or usable."""

from __future__ import annotations

import functools
import json
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

import torch

import encoder
from encoder.errors import EncoderError
from encoder.measure import heads, norm_statistics, rollout, stream
from encoder.trace.trace import Trace
from tests.fuzz.checkpoints import VALUES, Found, bounded, places


@functools.cache
def _originals() -> tuple[bytes, ...]:
    """Files of an encoder, of an edited pass, of a decoder, without weights, and of an image."""
    text = encoder.load("twin-pre", device="cpu")
    dates = encoder.load("dates-pre", device="cpu")
    image = encoder.load("digits-pre", device="cpu")
    traces: tuple[tuple[Trace, bool], ...] = (
        (text.trace("A cat sat."), True),
        (text.trace("A cat", edits=[encoder.edits.AblateHead(0, 1)], request=("scores", "z", "ffn.hidden")), True),
        (dates.trace("21/3/98", target="1998"), True),
        (text.trace("A cat sat.", "It ran."), False),
        (image.trace(torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(0))), True),
    )
    with tempfile.TemporaryDirectory() as place:
        return tuple(trace.save(Path(place) / "a", weights=weights).read_bytes() for trace, weights in traces)


def case(seed: int) -> str:
    """One file. Returns what became of it. Raises Found."""
    chance = random.Random(seed)
    originals = _originals()
    number = chance.randrange(len(originals))
    data = _changed(originals[number], chance)
    what = f"case {seed} (file {number})"
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "trace.safetensors"
        file.write_bytes(data)
        try:
            with bounded(what):
                model = encoder.load("twin-pre", device="cpu") if number == 3 else None
                try:
                    trace = encoder.open_trace(file, model)
                except EncoderError as error:
                    if not str(error).strip() or len(str(error)) > 3_000:
                        raise Found(f"{what}: the error has {len(str(error))} characters") from error
                    return "refused"
                return _used(trace)
        except Found:
            raise
        except BaseException as error:
            raise Found(f"{what}: {type(error).__name__}: {error}") from error


def _used(trace: Trace) -> str:
    """Use every part. A value that was not recorded is a sentence."""
    uses = (
        lambda: heads(trace), lambda: rollout(trace, 0), lambda: stream(trace), lambda: norm_statistics(trace),
        lambda: trace.thumbnails(8), lambda: trace.to_pandas(0, 0), lambda: repr(trace), lambda: trace.scores(0, 0),
        lambda: trace.cross_attention(0, 0), lambda: trace.unpadded, lambda: trace.source and trace.source.cut,
        lambda: trace.logit_lens if hasattr(trace, "logit_lens") else None, lambda: encoder.export.map(trace, 0, 0),
    )  # fmt: skip
    refused = 0
    for use in uses:
        try:
            use()
        except EncoderError:
            refused += 1
    return "opened" if refused <= 3 else "opened in part"


def _changed(data: bytes, chance: random.Random) -> bytes:
    length = int.from_bytes(data[:8], "little")
    if chance.random() < 0.2:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 5))):
            changed[chance.randrange(min(len(changed), length + 50))] = chance.randrange(256)
        return bytes(changed[: chance.randrange(1, len(changed))] if chance.random() < 0.3 else changed)
    header = json.loads(data[8 : 8 + length])
    inside = chance.random() < 0.75
    value: Any = json.loads(header["__metadata__"]["trace"]) if inside else header
    for _ in range(chance.choice((1, 1, 2))):
        paths = [*places(value)]
        path = chance.choice(paths)
        parent: Any = value
        try:
            for step in path[:-1]:
                parent = parent[step]
            if chance.random() < 0.3 and isinstance(parent, dict):
                parent.pop(path[-1], None)
            else:
                parent[path[-1]] = chance.choice((*VALUES, 4, 5, 6, float("nan"), ["x"] * 6))
        except (KeyError, IndexError, TypeError):
            continue
    if inside:
        header["__metadata__"]["trace"] = json.dumps(value)
    text = json.dumps(header).encode("utf-8", "replace")
    return struct.pack("<Q", len(text)) + text + data[8 + length :]
