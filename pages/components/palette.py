"""Colours for heads that are drawn over one another."""

from encoder.figures.colours import HEADS as HEAD_COLOURS

__all__ = ["HEAD_COLOURS"]
