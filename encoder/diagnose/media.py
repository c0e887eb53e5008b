"""The pipeline of an encoder of images or sounds: its inputs by their names, their preparation, its vector.

The search works on names, as it does on texts; `Media` has the values of these names. So faults after the preparation
are those of texts, and the search is the same.

Shapes: B batch, T tokens, D width of the residual stream, C channels, H height, W width.
"""

from __future__ import annotations

import dataclasses
import io
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from encoder import disk
from encoder.diagnose.pipeline import EncoderFront, End, Pipeline, States, Step
from encoder.diagnose.preparations import Pixels, Prepared, Waves
from encoder.encoders.audio import AudioEncoder
from encoder.encoders.image import ImageEncoder
from encoder.encoders.signal import SignalEncoder
from encoder.errors import EncoderError
from encoder.inputs import media_file
from encoder.inputs.image_files import MOST_BYTES, check_size, flat, open_picture
from encoder.inputs.layout import InputKind
from encoder.inputs.sound import Sound
from encoder.inputs.sound_files import open_sound, wav_bytes
from encoder.model.pooling import Dense, DenseConfig

#: Inputs that run together, and prepared ones that are kept.
TOGETHER, KEPT = 8, 128
#: Pixels or samples of all inputs: 600 MB.
MOST_NUMBERS = 200_000_000


#: Values that `prepare` accepts, and Paths or contents of files; or these by names.
Inputs = Sequence[Any] | Mapping[str, Any]


def named(model: SignalEncoder, inputs: Inputs) -> dict[str, Any]:
    """Files by their names, values by their numbers."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    found: dict[str, Any] = {}
    for number, one in enumerate(inputs, 1):
        name = Path(one).name if isinstance(one, str | Path) else f"{model.takes} {number}"
        found[name if name not in found else f"{name} ({number})"] = one
    return found


def opened(model: SignalEncoder, one: Any, name: str) -> Any:
    """A file, or its content -> what `prepare` accepts, every pixel of it; a value as it is. Raises EncoderError."""
    if not isinstance(one, str | Path | bytes):
        return one
    return open_picture(one, name, every_pixel=True) if model.takes == "image" else open_sound(one, name)


def content(one: Any) -> bytes:
    """The file of an input, as another program gets it: a Path's content; a sound as WAV, an image as PNG.

    Raises EncoderError for a file that is missing or too large, and for what is none of these.
    """
    if isinstance(one, Sound):
        return wav_bytes(one)
    if not hasattr(one, "getbands"):  # Pillow's
        return media_file.content(one, "This file", most=MOST_BYTES, kind="media", refused=EncoderError)[0]
    check_size("The image", *one.size)
    out = io.BytesIO()
    flat(one).save(out, "PNG")
    return out.getvalue()


@dataclass(frozen=True, eq=False)
class Media:
    """Images or sounds by their names, the probes among them, and what was prepared of them."""

    model: SignalEncoder
    #: Name -> what `prepare` accepts.
    given: Mapping[str, Any]
    _prepared: OrderedDict[tuple[str, Prepared], Tensor] = field(default_factory=OrderedDict)

    @classmethod
    def of(cls, model: SignalEncoder, inputs: Inputs, most: int | None = None) -> Media:
        """Inputs by their names. most: pixels or samples of all of them, MOST_NUMBERS by default.

        Raises EncoderError for a file that does not open, and for too many numbers.
        """
        found, numbers = {}, 0
        most = MOST_NUMBERS if most is None else most
        for name, one in named(model, inputs).items():
            found[name] = opened(model, one, name)
            numbers += _size(found[name])
            if numbers > most:
                raise EncoderError(
                    f"{name} and the files before it have more than {most:,} pixels or samples: "
                    "send fewer or smaller ones."
                )
        return cls(model, found)

    @cached_property
    def probes(self) -> Mapping[str, Any]:
        """Inputs that make faults visible, by the names of their files."""
        return media_probes(self.model)

    def prepared(self, name: str, how: Prepared) -> Tensor:
        """What the encoder receives of an input. Raises the errors of `prepare`."""
        key = name, how
        if key not in self._prepared:
            value = self.given[name] if name in self.given else self.probes[name]
            self._prepared[key] = how.prepare(value)
            while len(self._prepared) > KEPT:
                self._prepared.popitem(last=False)
        return self._prepared[key]


@dataclass(frozen=True, eq=False)
class MediaFront(EncoderFront):
    """From an image or a sound to the vectors of its tokens."""

    #: The inputs.
    media: Media
    #: How they are prepared.
    preparation: Prepared

    @property
    def prompt(self) -> str:
        """Nothing is put before an image."""
        return ""

    def states(self, names: Sequence[str], only: Sequence[int] | None = None) -> list[States]:
        """Run the inputs, or the places `only` of them. Raises EncoderError for those that this front cannot run."""
        places = list(range(len(names))) if only is None else sorted(set(only))
        found = []
        size = self.batch or TOGETHER
        for first in range(0, len(places), size):
            some = places[first : first + size]
            inputs = [self.media.prepared(names[place], self.preparation) for place in some]
            if len({one.shape for one in inputs}) == 1:
                found.append(self.run(some, torch.stack(inputs)))
            else:  # sounds of any length run by themselves
                found += [self.run([place], one[None]) for place, one in zip(some, inputs, strict=True)]
        return found

    def run(self, places: Sequence[int], inputs: Tensor) -> States:
        """Run a batch of prepared inputs."""
        encoder = self.encoder
        inputs = inputs.to(device=encoder.device, dtype=encoder.dtype)
        output = self.outputs(encoder, inputs, None, None, self.config.max_tokens)
        real = torch.ones(output.shape[:2], dtype=torch.bool, device=output.device)
        special = torch.zeros_like(real)
        layout = self.media.model.layout
        special[:, : 0 if layout is None else len(layout.before)] = True
        return States(tuple(places), output, real, special, 0, None)


@dataclass(frozen=True, eq=False)
class MediaPipeline(Pipeline):
    """How vectors of images or sounds are made."""

    front: MediaFront  # type: ignore[assignment]
    model: SignalEncoder  # type: ignore[assignment]

    @classmethod
    def of_media(cls, model: SignalEncoder, media: Media) -> MediaPipeline:
        """The right pipeline: `SignalEncoder.embed`, without scaling to norm 1."""
        return cls(MediaFront(model.encoder, media, own_preparation(model)), end_of(model), model)

    def lengths(self, texts: Sequence[str]) -> tuple[int, ...]:
        """The numbers of each input: pixels or samples."""
        return tuple(_size(self.front.media.given[name]) for name in texts)

    def probes(self) -> tuple[str, ...]:
        """The names of inputs that make faults visible."""
        return tuple(self.front.media.probes)


def own_preparation(model: SignalEncoder) -> Prepared:
    """The model's own preparation, to be changed. Raises EncoderError for another kind of model."""
    if isinstance(model, ImageEncoder):
        return Pixels(model)
    if isinstance(model, AudioEncoder):
        return Waves(model)
    raise EncoderError(f"{model.name} accepts {model.takes}: choose a model of texts, images or sounds.")


def end_of(model: SignalEncoder) -> End:
    """How the model makes one vector of an input: `SignalEncoder.pool`."""
    head = model.vector_head
    if head is None:
        layout = model.layout
        return End("cls" if layout is not None and "[CLS]" in layout.before else "mean")
    dense: tuple[Dense, ...] = ()
    steps: tuple[Step, ...] = ()
    if head.projection is not None:
        d_out, d_in = head.projection.weight.shape
        made = Dense(DenseConfig(d_in, d_out, bias=False, activation="none"))
        made.linear = head.projection
        dense, steps = (made.eval(),), (("dense", 0),)
    return End(head.config.pooling, dense, steps, attention=head.attention)


def _size(given: Any) -> int:
    if isinstance(given, Sound):
        return len(given.samples)
    if hasattr(given, "getbands"):
        return int(given.size[0] * given.size[1])
    return int(np.prod(getattr(given, "shape", (1,))))


def longer_side(image: Any) -> int:
    """The longer side of an image in pixels, whatever holds it."""
    return int(max(image.size if hasattr(image, "getbands") else image.shape))


# --- probes -----------------------------------------------------------------------------------------------------------

#: (height, width) of the probe images: square, wide, tall, smaller than any model's, and much larger.
IMAGES = {
    "probe-square.png": (256, 256), "probe-wide.png": (240, 400), "probe-tall.png": (401, 233),
    "probe-small.png": (40, 56), "probe-large.png": (2_400, 4_000),
}  # fmt: skip
#: (seconds, samples a second) of the probe sounds.
SOUNDS = {
    "probe-short.wav": (0.6, 16_000), "probe-other-rate.wav": (1.3, 22_050), "probe-long.wav": (4.0, 16_000),
}  # fmt: skip


def media_probes(model: SignalEncoder) -> dict[str, Any]:
    """Images or sounds to send to the other program, by the names of their files: some not square, one large; some
    short or of another rate."""
    if model.takes == "sound":
        return {name: probe_sound(seconds, rate) for name, (seconds, rate) in SOUNDS.items()}
    return {name: probe_image(height, width) for name, (height, width) in IMAGES.items()}


@cache
def probe_files(takes: InputKind) -> Mapping[str, bytes]:
    """The probes as files, PNG or WAV, in the order of their names. takes: "image" or "sound"."""
    made = (
        {name: content(probe_sound(*SOUNDS[name])) for name in sorted(SOUNDS)}
        if takes == "sound"
        else {name: content(probe_image(*IMAGES[name])) for name in sorted(IMAGES)}
    )
    return MappingProxyType(made)


@lru_cache(maxsize=8)
def probe_image(height: int, width: int) -> Any:
    """A Pillow image with smooth colours, edges, a fine pattern that aliases, and different quarters."""
    from PIL import Image

    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    y, x = rows / height, columns / width
    red = 0.5 + 0.4 * np.sin(9.0 * x + 4.0 * y * y)
    green = 0.2 + 0.6 * y * (1.0 - 0.7 * x)
    blue = 0.5 + 0.4 * np.cos(7.0 * y - 11.0 * x * x)
    disc = (x - 0.3) ** 2 + (y - 0.4) ** 2 < 0.03
    stripes = (((columns + rows) // 3) % 2 == 0) & (x > 0.55) & (y > 0.5)
    pixels = np.stack([np.where(disc, 0.95, red), np.where(stripes, 0.9, green), np.where(disc, 0.1, blue)], axis=-1)
    return Image.fromarray((pixels.clip(0.0, 1.0) * 255).round().astype(np.uint8))


@lru_cache(maxsize=8)
def probe_sound(seconds: float, rate: int) -> Sound:
    """A tone that rises, with a silence and a click."""
    time = np.arange(int(seconds * rate)) / rate
    samples = 0.4 * np.sin(2 * np.pi * (180.0 + 1_500.0 * time / seconds) * time) * (1.0 - 0.6 * time / seconds)
    samples += 0.1 * np.sin(2 * np.pi * 3_100.0 * time)
    samples[len(samples) // 3 : len(samples) // 2] = 0.0
    samples[len(samples) // 5] = 0.8
    return Sound(samples.astype(np.float32), rate)


def write_probes(model: SignalEncoder, folder: str | Path) -> tuple[str, ...]:
    """Write the probes as files of a folder, PNG or WAV; returns their names. Raises SaveError."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, one in probe_files(model.takes).items():
        write_probe(one, Path(folder) / name)
    return tuple(probe_files(model.takes))


def write_probe(one: Any, file: str | Path) -> None:
    """Write an input as another program gets it. Raises SaveError."""
    disk.write_file(file, content(one))


def with_preparation(pipeline: Pipeline, **changes: Any) -> Pipeline:
    """The pipeline with other fields of its preparation. Raises EncoderError for one of texts."""
    front: object = pipeline.front
    if not isinstance(front, MediaFront):
        raise EncoderError("This pipeline accepts texts, so it cannot have this fault.")
    return pipeline.with_front(preparation=dataclasses.replace(front.preparation, **changes))
