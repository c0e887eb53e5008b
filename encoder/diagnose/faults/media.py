"""Faults before the first layer of an encoder of images or sounds: how its input is prepared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from encoder.diagnose.faults.base import Clues, Fault, refuse_unless, register
from encoder.diagnose.media import MediaFront, longer_side, with_preparation
from encoder.diagnose.pipeline import Pipeline, Stage
from encoder.diagnose.preparations import (
    FILTERS,
    MELS,
    SCALINGS,
    SHAPES,
    USUAL_VALUES,
    Filters,
    Mel,
    Pixels,
    Shape,
    Waves,
)
from encoder.inputs.layout import InputKind
from encoder.inputs.log_mel import KaldiMel, Samples, WhisperMel

#: Sides to which clients scale images before they send them.
SENT_SIDES = (1_024, 800, 512, 768, 1_536, 2_048, 384, 336, 256)


@dataclass(frozen=True)
class _OfImages(Fault):
    """Base: another preparation of images."""

    takes: ClassVar[tuple[InputKind, ...]] = ("image",)
    stage: ClassVar[Stage] = "tokens"


@dataclass(frozen=True)
class _OfSounds(Fault):
    """Base: another preparation of sounds."""

    takes: ClassVar[tuple[InputKind, ...]] = ("sound",)
    stage: ClassVar[Stage] = "tokens"


def _pixels(pipeline: Pipeline) -> Pixels:
    front: object = pipeline.front
    found = front.preparation if isinstance(front, MediaFront) else None
    refuse_unless(isinstance(found, Pixels), "accepts no images")
    assert isinstance(found, Pixels), "as was said"
    return found


def _waves(pipeline: Pipeline) -> Waves:
    front: object = pipeline.front
    found = front.preparation if isinstance(front, MediaFront) else None
    refuse_unless(isinstance(found, Waves), "accepts no sounds")
    assert isinstance(found, Waves), "as was said"
    return found


# --- images -----------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class ImageResize(_OfImages):
    """Images are scaled in another way, such as without antialiasing."""

    scaling: str
    name: ClassVar[str] = "image-resize"
    rank: ClassVar[int] = 2
    most_together: ClassVar[int] = 4
    said: ClassVar[str] = "scales images in another way: {scaling}"
    remedy: ClassVar[str] = (
        "Scale with Pillow and the filter of preprocessor_config.json (resample), with antialiasing: other libraries "
        "read only the nearest pixels."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        own = _pixels(pipeline).model.preparation.interpolation
        smooth = own if own in ("bilinear", "bicubic") else "bilinear"
        likely = (f"{smooth} without antialiasing", f"{smooth} without antialiasing, rounded", "nearest", "bilinear",
                  "bicubic", "lanczos", f"{smooth} by torch", f"{smooth} in decimals")  # fmt: skip
        return [cls(one) for one in dict.fromkeys((*likely, *SCALINGS)) if one != own]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_pixels(pipeline).scaling is None, "scales in another way")
        return with_preparation(pipeline, scaling=self.scaling)


@register
@dataclass(frozen=True)
class ImageCrop(_OfImages):
    """An image that is not square is cut where the model scales it to a square, or the other way round."""

    shape: Shape
    name: ClassVar[str] = "image-crop"
    rank: ClassVar[int] = 2
    most_together: ClassVar[int] = 8
    said: ClassVar[str] = "makes another square of an image: {shape}"
    remedy: ClassVar[str] = (
        "Read size and do_center_crop of preprocessor_config.json: shortest_edge keeps the image's shape and cuts its "
        "middle, height and width scale it to a square. A square image hides the difference."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in SHAPES]

    @property
    def unlikely(self) -> int:
        return self.rank + SHAPES.index(self.shape) // 4

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_pixels(pipeline).shape is None, "cuts images in another way")
        return with_preparation(pipeline, shape=self.shape)


@register
@dataclass(frozen=True)
class ImageNormalise(_OfImages):
    """Pixels are shifted and scaled by other numbers, or not at all."""

    values: str
    name: ClassVar[str] = "image-normalise"
    rank: ClassVar[int] = 2
    most_together: ClassVar[int] = 4
    said: ClassVar[str] = "shifts and scales pixels by other means and standard deviations: {values}"
    remedy: ClassVar[str] = "Read image_mean and image_std of preprocessor_config.json: each family has its own."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        model = _pixels(pipeline).model
        own, n = model.preparation, model.patches.channels
        return [
            cls(name)
            for name, (mean, std) in USUAL_VALUES.items()
            if (mean[:n], std[:n]) != (tuple(own.mean), tuple(own.std))
        ]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_pixels(pipeline).values is None, "shifts pixels in another way")
        return with_preparation(pipeline, values=self.values)


@register
@dataclass(frozen=True)
class ImageRescale(_OfImages):
    """Pixels are not divided by 255, or twice."""

    divisor: float
    name: ClassVar[str] = "image-rescale"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "divides pixels by {divisor:,.6g} before it shifts them"
    remedy: ClassVar[str] = "Divide whole numbers from 0 to 255 by 255 once, and an image of 0 to 1 not again."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(1.0), cls(255.0**2), cls(256.0), cls(127.5)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_pixels(pipeline).divisor == 255.0, "divides by another number")
        return with_preparation(pipeline, divisor=self.divisor)


@register
@dataclass(frozen=True)
class ChannelOrder(_OfImages):
    """Blue, green, red in place of red, green, blue."""

    name: ClassVar[str] = "channel-order"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "gives the channels in the order blue, green, red"
    remedy: ClassVar[str] = "OpenCV opens images as BGR: convert them with cvtColor(image, COLOR_BGR2RGB)."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_pixels(pipeline).model.patches.channels == 3, "has no colours")
        return with_preparation(pipeline, swapped=True)


@register
@dataclass(frozen=True)
class ImageScaledFirst(_OfImages):
    """Large images are scaled down once before they are prepared."""

    side: int
    name: ClassVar[str] = "image-scaled-first"
    rank: ClassVar[int] = 4
    said: ClassVar[str] = "scales images whose longer side has more than {side:,} pixels down to it first"
    remedy: ClassVar[str] = "Send and store images in their own size: scaled twice, they are not scaled once."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        front: object = pipeline.front
        assert isinstance(front, MediaFront), "the search asks for faults of images only"
        largest = max(map(longer_side, front.media.given.values()))
        return [cls(one) for one in SENT_SIDES if one < largest]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_pixels(pipeline).first is None, "scales images first")
        return with_preparation(pipeline, first=self.side)


# --- sounds -----------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class SoundRate(_OfSounds):
    """Sounds of another rate are not resampled."""

    name: ClassVar[str] = "sound-rate"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "takes every sound as if it had the model's rate, without resampling"
    remedy: ClassVar[str] = "Resample to sampling_rate of preprocessor_config.json: 16,000 samples a second."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        _waves(pipeline)
        return with_preparation(pipeline, any_rate=True)


@register
@dataclass(frozen=True)
class SoundScale(_OfSounds):
    """Samples are whole numbers in place of numbers from -1 to 1, or the other way round."""

    factor: float
    name: ClassVar[str] = "sound-scale"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "multiplies samples by {factor:,.6g}"
    remedy: ClassVar[str] = "Divide 16-bit samples by 32,768 once: the model expects numbers from -1 to 1."

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in (32_768.0, 32_767.0, 1 / 32_768.0, 1 / 32_767.0)]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        refuse_unless(_waves(pipeline).factor == 1.0, "multiplies samples")
        return with_preparation(pipeline, factor=self.factor)


@register
@dataclass(frozen=True)
class MelFilters(_OfSounds):
    """Other filters make mel bands of frequencies."""

    filters: Filters
    name: ClassVar[str] = "mel-filters"
    rank: ClassVar[int] = 2
    most_together: ClassVar[int] = 3
    said: ClassVar[str] = "uses other mel filters: {filters}"
    remedy: ClassVar[str] = 'Whisper has Slaney\'s scale and area: librosa.filters.mel(htk=False, norm="slaney").'

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in FILTERS]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        found = _waves(pipeline)
        refuse_unless(isinstance(found.model.preparation, WhisperMel) and found.filters is None, "has its filters")
        return with_preparation(pipeline, filters=self.filters)


@register
@dataclass(frozen=True)
class LogMel(_OfSounds):
    """The spectrogram is made in another way, such as with the natural logarithm."""

    how: Mel
    name: ClassVar[str] = "log-mel"
    rank: ClassVar[int] = 2
    most_together: ClassVar[int] = 4
    said: ClassVar[str] = "makes the log-mel spectrogram in another way: {how}"
    remedy: ClassVar[str] = (
        "Whisper takes log10 of powers under a periodic window, at most 8 below the largest, plus 4, divided by 4."
    )

    @classmethod
    def candidates(cls, pipeline: Pipeline, clues: Clues) -> Iterable[Self]:
        return [cls(one) for one in MELS]

    def apply(self, pipeline: Pipeline) -> Pipeline:
        found = _waves(pipeline)
        refuse_unless(isinstance(found.model.preparation, WhisperMel) and found.mel is None, "has its spectrogram")
        return with_preparation(pipeline, mel=self.how)


@register
@dataclass(frozen=True)
class SoundPadding(_OfSounds):
    """Silence is put after the spectrogram, as zeros, in place of after the sound."""

    name: ClassVar[str] = "sound-padding"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "fills the spectrogram with zeros in place of the sound with silence"
    remedy: ClassVar[str] = "Add silence to 30 seconds first, and then make the spectrogram: silence is not 0 in it."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        found = _waves(pipeline)
        refuse_unless(isinstance(found.model.preparation, WhisperMel), "adds no silence")
        return with_preparation(pipeline, fills_late=True)


@register
@dataclass(frozen=True)
class SoundNormalise(_OfSounds):
    """Features are shifted and scaled where the model does not, or the other way round."""

    name: ClassVar[str] = "sound-normalise"
    rank: ClassVar[int] = 2
    said: ClassVar[str] = "shifts and scales samples or features where the model does not, or the other way round"
    remedy: ClassVar[str] = "Read do_normalize, mean and std of preprocessor_config.json."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        found = _waves(pipeline)
        refuse_unless(isinstance(found.model.preparation, KaldiMel | Samples), "has no such setting")
        return with_preparation(pipeline, other_normalisation=True)


# --- the vector -------------------------------------------------------------------------------------------------------


@register
@dataclass(frozen=True)
class ProjectionMissing(Fault):
    """The projection to the vectors that are compared with those of texts is left out."""

    name: ClassVar[str] = "projection-missing"
    takes: ClassVar[tuple[InputKind, ...]] = ("image", "sound")
    stage: ClassVar[Stage] = "dense"
    rank: ClassVar[int] = 1
    said: ClassVar[str] = "leaves out the projection after the pooling"
    remedy: ClassVar[str] = "Use get_image_features or image_embeds, not pooler_output: visual_projection follows it."

    def apply(self, pipeline: Pipeline) -> Pipeline:
        left = tuple(step for step in pipeline.end.steps if step[0] != "dense")
        refuse_unless(left != pipeline.end.steps, "has no projection")
        return pipeline.with_end(steps=left)
