"""Pictures of the forward pass: bars of tokens, and curves of its cost."""

from encoder.figures.steps.bars import token_bars
from encoder.figures.steps.cost import cost_curves

__all__ = ["cost_curves", "token_bars"]
