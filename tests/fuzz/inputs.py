"""Inputs of any type and value for the public calls of every family's model, and for `encoder.wrap`."""

from __future__ import annotations

import functools
import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import encoder
from encoder.errors import EncoderError
from tests.fuzz.checkpoints import Found, bounded
from tests.load import decoders, every_family, joints, pages

#: Calls that a model may offer -> the call of one value.
CALLS: dict[str, Callable[[Any, Any, random.Random], Any]] = {
    "trace": lambda model, value, chance: model.trace(value),
    "trace of a pair": lambda model, value, chance: model.trace("w7 w8", value),
    "embed": lambda model, value, chance: model.embed(value),
    "embed of a list": lambda model, value, chance: model.embed([value, value]),
    "windows": lambda model, value, chance: model.windows(value),
    "trace_batch": lambda model, value, chance: model.trace_batch([value, "w7"]),
    "trace_tokens": lambda model, value, chance: model.trace_tokens(value),
    "generate": lambda model, value, chance: model.generate(value, max_tokens=3),
    "generate a target": lambda model, value, chance: model.generate(
        chance.choice(USUAL[_takes(model)])(), max_tokens=3, target=value
    ),
    "generate beams": lambda model, value, chance: model.generate(
        chance.choice(USUAL[_takes(model)])(), max_tokens=3, beams=value
    ),
    "side": lambda model, value, chance: model.embed(["w7"], side=value),
    "prompt": lambda model, value, chance: model.embed(["w7"], prompt=value),
    "edits": lambda model, value, chance: model.trace(chance.choice(USUAL[_takes(model)])(), edits=value),
    "request": lambda model, value, chance: model.trace(chance.choice(USUAL[_takes(model)])(), request=value),
    "explain_score": lambda model, value, chance: encoder.explain_score(model, "w7 w8", value),
    "vectors": lambda model, value, chance: encoder.vectors(model, value),
    "attentions": lambda model, value, chance: encoder.attentions(model, value),
    "wrap": lambda model, value, chance: encoder.wrap(value),
    "load": lambda model, value, chance: encoder.load(value),
}
#: Call -> the method that it needs, where its name does not begin with it; "" for functions of the package.
METHODS = {
    "side": "embed", "prompt": "embed", "edits": "trace", "request": "trace",
    **dict.fromkeys(("explain_score", "vectors", "attentions", "wrap", "load"), ""),
}  # fmt: skip
#: Calls that only models of texts offer.
OF_TEXTS = ("trace of a pair", "side", "prompt")
#: What a model takes -> inputs that it is made for.
USUAL: dict[str, list[Callable[[], Any]]] = {
    "text": [lambda: "w7 w8 w9", lambda: ""],
    "image": [lambda: pages.page(24, 24), lambda: pages.page(7, 90)],
    "video": [lambda: np.zeros((3, 30, 20, 3), np.uint8), lambda: [pages.page(24, 24)] * 9],
    "sound": [lambda: encoder.Sound(np.sin(np.arange(4000) / 9.0), 16_000)],
}
#: Functions that make a value, of any type: each case has its own.
VALUES: list[Callable[[random.Random], Any]] = [
    lambda chance: chance.choice((None, True, -1, 0, 3, 2**70, 0.5, float("nan"), b"w7", object(), ..., "w7", int)),
    lambda chance: chance.choice(([], (), {}, set(), [[]], [None], ["w7", 3], {"text": "w7"}, [1.5], [-1], [2**40])),
    lambda chance: chance.choice(("", " ", "\ud800", "\x00", "w7 " * 5_000, "/dev/zero", "/", "../x", "no-model.png")),
    lambda chance: Path(chance.choice(("/dev/zero", "/", "/no/such.png", os.devnull))),
    lambda chance: np.full(chance.choice(((0,), (5,), (24, 24), (24, 24, 3), (3, 24, 24), (1, 1, 1), (2, 3, 4, 5))),
                           chance.choice((0, 1, 255, -7, np.nan, np.inf, 1e30)),
                           dtype=chance.choice((float, np.float32, np.complex64))),
    lambda chance: np.zeros((24, 24, 3), dtype=chance.choice((np.uint8, np.int64, bool, "S3", object))),
    lambda chance: torch.zeros(chance.choice(((), (0,), (24, 24), (3, 24, 24), (2, 3, 24, 24), (1, 9)))),
    lambda chance: torch.full((3, 24, 24), chance.choice((float("nan"), float("inf"), 1e30))),
    lambda chance: Image.new(chance.choice(("1", "L", "P", "RGBA", "CMYK", "I;16", "F", "LAB")),
                             chance.choice(((1, 1), (24, 24), (1, 900), (900, 1)))),
    lambda chance: encoder.Sound(np.zeros(chance.choice((1, 2, 399, 4_000))), chance.choice((1_000, 16_000, 192_000))),
    lambda chance: torch.nn.Linear(3, 3),
    lambda chance: "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randrange(40))),
]  # fmt: skip


def _takes(model: Any) -> str:
    """What a model is made for; of two towers, what the other one takes."""
    return str(model.other.takes if isinstance(model, encoder.JointEncoder) else getattr(model, "takes", "text"))


@functools.cache
def makers() -> dict[str, Callable[[], Any]]:
    """Every family -> what opens a tiny model of it with random weights."""
    found: dict[str, Callable[[], Any]] = {
        name: functools.partial(lambda case: every_family.opened(case)[1], case)
        for name, case in every_family.ALL.items()
    }
    found |= {f"{name} that writes": functools.partial(_writer, case) for name, case in decoders.CASES.items()}
    found |= {name: functools.partial(_joint, name) for name in joints.FAMILIES}
    found |= {kind: functools.partial(_page, kind) for kind in ("ModernVBert", "ColModernVBert")}
    return found


def _writer(case: every_family.Case) -> Any:
    with decoders.pair(case) as both:
        return both.ours


def _joint(family: str) -> Any:
    with tempfile.TemporaryDirectory() as place:
        return encoder.load(joints.write(joints.model_of(family), Path(place) / "model", family), device="cpu")


def _page(kind: str) -> Any:
    with tempfile.TemporaryDirectory() as place:
        return encoder.load(pages.write(pages.model_of(kind), Path(place) / "model"), device="cpu")


@functools.lru_cache(maxsize=12)
def model(name: str) -> Any:
    """One of the models; those of the last cases are kept."""
    return makers()[name]()


def case(seed: int) -> str:
    """One call of one model, with one value. Returns what became of it. Raises Found."""
    chance = random.Random(seed)
    # Twelve models in a row serve sixty cases, so that cases and not openings take the time.
    names = sorted(makers())
    name = names[(seed // 60 * 12 + chance.randrange(12)) % len(names)]
    loaded = model(name)
    if isinstance(loaded, encoder.JointEncoder):
        loaded = chance.choice((loaded, loaded.text, loaded.other))
    call = chance.choice(list(CALLS))
    try:
        value = chance.choice(VALUES)(chance)
    except EncoderError:  # a sound of 1 sample at 192 kHz, say
        return "refused"
    method = METHODS.get(call, call.split()[0])
    if (method and not hasattr(loaded, method)) or (call in OF_TEXTS and not isinstance(loaded, encoder.TextEncoder)):
        return "not offered"
    what = f"case {seed} ({name}, {type(loaded).__name__}, {call}, {str(value)[:80]!r} of {type(value).__name__})"
    try:
        with bounded(what), np.errstate(all="ignore"):
            CALLS[call](loaded, value, chance)
    except EncoderError as error:
        said = str(error)
        if not said.strip() or len(said) > 900:
            raise Found(f"{what}: a sentence of {len(said)} characters: {said[:200]}") from error
        return "refused"
    except Found:
        raise
    except BaseException as error:
        raise Found(f"{what}: {type(error).__name__}: {error}") from error
    return "computed"
