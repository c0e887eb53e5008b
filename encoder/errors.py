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
