"""What the tokens of a sound are: steps of time, or patches of a spectrogram.

Shapes: T tokens.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from encoder.inputs.layout import InputKind
from encoder.model.sound_shapes import SpectrogramPatches


@dataclass(frozen=True)
class Span:
    """The part of a sound that a token is made of. start, end: seconds; band: of a spectrogram, 0 is the lowest."""

    start: float
    end: float
    band: int | None = None

    def __str__(self) -> str:
        return f"{self.start:.2f}-{self.end:.2f} s" + ("" if self.band is None else f" b{self.band}")


@dataclass(frozen=True)
class TimeSteps:
    """T steps of `step` seconds each, one after another. Each also reads a little of what follows it."""

    n_steps: int
    step: float
    before: ClassVar[tuple[str, ...]] = ()
    kind: ClassVar[InputKind] = "sound"

    @cached_property
    def spans(self) -> tuple[Span | None, ...]:
        """[T]: the part of the sound of each token."""
        return tuple(Span(index * self.step, (index + 1) * self.step) for index in range(self.n_steps))

    @property
    def tokens(self) -> tuple[str, ...]:
        """[T]: "0.42-0.44 s"."""
        return tuple(map(str, self.spans))

    @property
    def special(self) -> tuple[bool, ...]:
        """[T]: none is."""
        return (False,) * self.n_steps


@dataclass(frozen=True)
class SpectrogramGrid:
    """Patches of a spectrogram, band by band from low to high frequencies, each band from left to right.

    frame: seconds from one frame of the spectrogram to the next.
    """

    patches: SpectrogramPatches
    frame: float
    before: tuple[str, ...] = ("[CLS]", "[DIST]")
    kind: ClassVar[InputKind] = "sound"

    @cached_property
    def spans(self) -> tuple[Span | None, ...]:
        """[T]: the part of the sound of each token; None for [CLS] and the distillation token."""
        shape = self.patches
        starts = [index * shape.time_stride for index in range(shape.n_times)]
        made = [
            Span(start * self.frame, (start + shape.patch_size) * self.frame, band)
            for band in range(shape.n_bands)
            for start in starts
        ]
        return (*(None for _ in self.before), *made)

    @property
    def tokens(self) -> tuple[str, ...]:
        """[T]: "[CLS]", "[DIST]", then "0.16-0.32 s b2" for a patch of the third band from below."""
        return (*self.before, *(str(span) for span in self.spans if span is not None))

    @property
    def special(self) -> tuple[bool, ...]:
        """[T]: True for [CLS] and the distillation token."""
        return tuple(span is None for span in self.spans)


SoundLayout = TimeSteps | SpectrogramGrid
