"""The errors that this package raises on purpose. Each says what happened, then what to do."""

import reprlib
from typing import Any

_BRIEF = reprlib.Repr()
_BRIEF.maxlevel = 3
#: Characters of a value inside an error.
LONGEST = 160


def quoted(value: object) -> str:
    """A value from a file or a caller inside an error: as `repr`, but never long, and of any depth."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # ValueError: a whole number of thousands of digits
        text = _BRIEF.repr(value) if not isinstance(value, int) else "a very long number"
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


class EncoderError(ValueError):
    """Base of every error that the user can correct. The app shows its text unchanged."""


class ConfigError(EncoderError):
    """A field of an `EncoderConfig` does not fit the others."""


class LoadError(EncoderError):
    """A checkpoint cannot be loaded: it is missing, is not in safetensors, or belongs to an unknown family."""


class SaveError(EncoderError):
    """A model cannot be written: the disk is full, or the folder accepts no files."""


class TextError(EncoderError):
    """A text has no tokens that the model can take."""


class SoundError(EncoderError):
    """A sound cannot be read, or does not fit the model."""


class AtlasError(EncoderError):
    """A folder is not an atlas of a corpus, or one that this version cannot read; or a build of one cannot go on."""


class OutOfMemory(EncoderError):
    """The device ran out of memory; the message says what to do."""


def several(values: Any, name: str, of: str) -> tuple[Any, ...]:
    """The values of a list that a caller gave. Raises EncoderError for anything else. of: what the list is of."""
    try:
        if not isinstance(values, str | bytes):
            return tuple(values)
    except TypeError:  # not iterable, or an array without axes
        pass
    raise EncoderError(f"{name}={quoted(values)} is not a list: specify a list of {of}.")


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether `error` says that the machine or an accelerator ran out of memory.

    torch has a type of its own for CUDA. For MPS and the CPU it raises a RuntimeError, which only its words identify.
    """
    if isinstance(error, MemoryError | OutOfMemory) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = ("out of memory", "not enough memory", "allocate memory")
    return isinstance(error, RuntimeError) and any(part in str(error) for part in words)
