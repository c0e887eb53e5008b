"""The question that a measure asks first: is this a trace?"""

from encoder.errors import EncoderError


def check_trace(given: object) -> None:
    """Raise EncoderError for a text, or for several inputs, in the place of a Trace."""
    if isinstance(given, str | list | tuple):
        raise EncoderError("A measure accepts one Trace: specify model.trace(text), or use encoder.corpus.over.")
