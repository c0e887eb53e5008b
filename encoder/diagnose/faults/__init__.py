"""The faults by name: what a program does differently, each a frozen value that changes a pipeline.

`base` says what a fault is and registers it; the other files hold them by their place in the pipeline.
"""

from encoder.diagnose.faults import ends, inside, media, precision, stored, texts, tokens
from encoder.diagnose.faults.base import FAULTS, Batching, Clues, Fault, register

__all__ = [
    "FAULTS", "Batching", "Clues", "Fault", "ends", "inside", "media", "precision", "register", "stored", "texts",
    "tokens",
]  # fmt: skip
