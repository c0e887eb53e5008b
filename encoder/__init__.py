"""Encoderscope's engine: see what a transformer encoder does with a sentence.

    import encoder
    model = encoder.load("minilm")
    trace = model.trace("The cat sat on the mat")
    encoder.figures.attention_heatmap(trace.attention(0, 2), trace.labels)

Everything here runs in a notebook. Importing it loads torch; plotly, pandas and the rest come when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from encoder.config import EncoderConfig, Patches
from encoder.errors import ConfigError, EncoderError, LoadError, OutOfMemory, TextError
from encoder.images import ImageEncoder
from encoder.load import load, save
from encoder.mlm import MaskedPrediction, MLMHead, MLMHeadConfig
from encoder.model import Encoder, initialise
from encoder.pipeline import TextEncoder, build
from encoder.trace import Trace

if TYPE_CHECKING:
    from encoder import figures, measure, train

__version__ = "0.1.0"

__all__ = [
    "ConfigError", "Encoder", "EncoderConfig", "EncoderError", "ImageEncoder", "LoadError", "MLMHead",
    "MLMHeadConfig", "MaskedPrediction", "OutOfMemory", "Patches", "TextEncoder", "TextError", "Trace",
    "build", "figures", "initialise", "load", "measure", "save", "train",
]  # fmt: skip

_LAZY = ("figures", "measure", "train")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"encoder.{name}")
    raise AttributeError(f"module 'encoder' has no attribute {name!r}")
