"""For the change-over: `three_digits` is in encoder.figures.numbers."""

from encoder.figures.numbers import three_digits

__all__ = ["three_digits"]
