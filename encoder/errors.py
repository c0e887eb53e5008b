"""The errors that this package raises on purpose. Each says what happened, and then what to do."""


class EncoderError(ValueError):
    """Base of every error that the user can correct. The app shows its text unchanged."""


class ConfigError(EncoderError):
    """A field of an `EncoderConfig` does not fit the others."""


class LoadError(EncoderError):
    """A checkpoint cannot be loaded: it is missing, is no safetensors, or belongs to an unknown family."""


class TextError(EncoderError):
    """A text has no tokens that the model can take."""


class OutOfMemory(EncoderError):
    """The device ran out of memory; the message says what to do."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether `error` says that the machine or an accelerator ran out of memory.

    torch has a type of its own for CUDA. For MPS and the CPU it raises a RuntimeError, which only its words identify.
    """
    if isinstance(error, MemoryError | OutOfMemory) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = ("out of memory", "not enough memory", "allocate memory")
    return isinstance(error, RuntimeError) and any(part in str(error) for part in words)
