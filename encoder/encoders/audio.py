"""AudioEncoder: an Encoder of sound (AST, Whisper's encoder, Wav2Vec2, Parakeet ...). `encoder.load` returns it.

Shapes: N samples, T tokens, D d_model, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor

from encoder.edits import Edit
from encoder.encoders.signal import SignalEncoder
from encoder.errors import SoundError
from encoder.inputs.layout import InputKind
from encoder.inputs.log_mel import KALDI_HOP, AnyLength, Preparation, WhisperMel
from encoder.inputs.sound import Sound
from encoder.inputs.sound_files import open_sound
from encoder.inputs.sound_layout import SoundLayout, SpectrogramGrid, TimeSteps
from encoder.trace.trace import Trace


@dataclass(frozen=True, eq=False, repr=False)
class AudioEncoder(SignalEncoder):
    """An encoder of sound, ready to trace it. preparation: what `prepare` does."""

    preparation: Preparation
    takes: ClassVar[InputKind] = "sound"

    def _inputs(self) -> str:
        return f"sound of up to {self.seconds:.4g} s at {self.rate:,} Hz"

    @property
    def rate(self) -> int:
        """Samples per second that the model accepts; `prepare` resamples to it."""
        return self.preparation.rate

    @property
    def seconds(self) -> float:
        """The longest sound that the model accepts; `prepare` cuts the rest."""
        return float(self.preparation.seconds)

    @property
    def takes_any_length(self) -> bool:
        """Whether a short sound gives few tokens. Else silence is added to it, and T is always the same."""
        return isinstance(self.preparation, AnyLength)

    def open(self, file: bytes | str | Path) -> Sound:
        """A sound file, or its content -> the sound (`encoder.open_sound`). Raises SoundError."""
        return open_sound(file)

    def prepare(self, sound: Sound) -> Tensor:
        """A sound -> the model's input: a log-mel spectrogram [S, M] (Whisper [M, S]), or the samples [N].

        Raises SoundError for what is not a sound, and for one that is too short for one token.
        """
        if not isinstance(sound, Sound):
            raise SoundError(f"{self.name} accepts a Sound, not {type(sound).__name__}: use encoder.open_sound(file).")
        heard = sound.at(self.rate)
        shape, way = self.config.convolutions or self.config.frames, self.preparation
        least = way.least(shape.reach) if shape is not None and isinstance(way, AnyLength) else 1
        if len(heard.samples) < least:
            raise SoundError(
                f"This sound has {sound.seconds * 1e3:.0f} ms, and {self.name} needs {least / self.rate * 1e3:.0f} ms: "
                "choose a longer one."
            )
        return torch.from_numpy(self.preparation.features(heard.samples))

    @property
    def layout(self) -> SoundLayout:
        """What the tokens of the longest sound are."""
        return self.layout_of(None)

    def layout_of(self, sound: Sound | None) -> SoundLayout:
        """What the tokens of this sound are; of the longest one for None."""
        patches, steps = self.config.spectrogram, self.config.convolutions or self.config.frames
        if patches is not None:
            return SpectrogramGrid(patches, KALDI_HOP / self.rate)
        assert steps is not None, "an AudioEncoder accepts sound"
        way, length = self.preparation, None
        assert isinstance(way, WhisperMel | AnyLength), "patches are cut from the others"
        if isinstance(way, AnyLength):
            length = int(self.seconds * self.rate)
            if sound is not None:  # resampling rounds up
                length = min(length, -(-len(sound.samples) * self.rate // sound.rate))
            length = way.n_steps(length)
        return TimeSteps(max(0, steps.n_tokens(length)), steps.hop * way.hop / self.rate)

    def trace(
        self,
        sound: Sound,
        *,
        target: str | Sequence[int] | None = None,
        begin: Sequence[str] = (),
        edits: Sequence[Edit] = (),
        decoder_edits: Sequence[Edit] = (),
        request: Sequence[str] = (),
    ) -> Trace:
        """Run one sound and return its Trace. Its tokens are time steps or patches of a spectrogram, its ids -1.

        A sound longer than `seconds` is cut. The other arguments are those of `TextEncoder.trace`. Raises SoundError
        for what is not a sound or too short, EncoderError for edits or a request that do not fit, and OutOfMemory.
        """
        inputs = self.prepare(sound).unsqueeze(0).to(device=self.device, dtype=self.encoder.dtype)
        found = self._traces(inputs, self.layout_of(sound), edits, request)[0]
        return (
            found if target is None else self.decode(found, target, begin=begin, edits=decoder_edits, request=request)
        )
