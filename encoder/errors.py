"""The errors that this package raises on purpose: each says the value, the limit and the remedy."""


class EncoderError(ValueError):
    """Base of every error that a person can mend: its text is fit to be shown as it is."""


class ConfigError(EncoderError):
    """A field of an `EncoderConfig` does not fit the others."""


class LoadError(EncoderError):
    """A checkpoint cannot be read: not there, not safetensors, not a family that is known here."""


class TextError(EncoderError):
    """A text cannot be made into tokens that the model takes."""


class OutOfMemory(EncoderError):
    """The device ran out of memory; the message says what to do."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether `error` says that the memory of the machine or of an accelerator has run out.

    torch has a type of its own for CUDA; MPS and the CPU's allocator raise RuntimeError, told by its words.
    """
    if isinstance(error, MemoryError | OutOfMemory) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = ("out of memory", "not enough memory", "allocate memory")
    return isinstance(error, RuntimeError) and any(part in str(error) for part in words)
