"""Encoderscope's engine: see what a transformer encoder does with a sentence.

    >>> import encoder
    >>> model = encoder.load("minilm")
    >>> trace = model.trace("The cat sat on the mat")
    >>> figure = encoder.figures.attention_heatmap(trace.attention(0, 2), trace.labels)

Everything here runs in a notebook. Each name is imported at its first use, and torch with the first name that needs
it. So `encoderscope --version`, which imports this package too, answers at once.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from encoder import provided, verbs
from encoder.version import __version__ as __version__

if TYPE_CHECKING:
    from encoder import (
        causal,
        classify,
        corpus,
        diagnose,
        edits,
        explain,
        export,
        figures,
        gradients,
        measure,
        probe,
        run,
        scores,
        search,
        similarity,
        texts,
        train,
    )
    from encoder.checkpoints import load, open_trace, save, wrap
    from encoder.encoders.audio import AudioEncoder
    from encoder.encoders.image import ImageEncoder
    from encoder.encoders.joint import JointEncoder
    from encoder.encoders.text import TextEncoder, build
    from encoder.encoders.video import VideoEncoder
    from encoder.errors import ConfigError, EncoderError, LoadError, OutOfMemory, SaveError, SoundError, TextError
    from encoder.export.notebook import show
    from encoder.inputs.sound import Sound
    from encoder.inputs.sound_files import open_sound
    from encoder.model.config import EncoderConfig, Patches
    from encoder.model.encoder import Encoder, initialise
    from encoder.model.mlm import MaskedPrediction, MLMHead, MLMHeadConfig
    from encoder.probe.features import vectors
    from encoder.run.values import Run
    from encoder.scores.explained import explain_score
    from encoder.trace.attention_maps import attentions
    from encoder.trace.trace import Trace

__all__ = [
    "AudioEncoder", "ConfigError", "Encoder", "EncoderConfig", "EncoderError", "ImageEncoder", "JointEncoder",
    "LoadError", "MLMHead", "MLMHeadConfig", "MaskedPrediction", "OutOfMemory", "Patches", "Run", "SaveError",
    "Sound", "SoundError", "TextEncoder", "TextError", "Trace", "VideoEncoder", "attentions", "build", "causal",
    "classify", "corpus", "diagnose", "edits", "explain", "explain_score", "export", "figures", "gradients",
    "initialise", "load", "measure", "open_sound", "open_trace", "probe", "run", "save", "scores", "search", "show",
    "similarity", "texts", "train", "vectors", "wrap",
]  # fmt: skip

#: Public name -> its module.
_MODULE_OF = {
    **dict.fromkeys(("EncoderConfig", "Patches"), "model.config"),
    **dict.fromkeys(
        ("ConfigError", "EncoderError", "LoadError", "OutOfMemory", "SaveError", "SoundError", "TextError"), "errors"
    ),
    **dict.fromkeys(("MaskedPrediction", "MLMHead", "MLMHeadConfig"), "model.mlm"),
    **dict.fromkeys(("Encoder", "initialise"), "model.encoder"),
    **dict.fromkeys(("TextEncoder", "build"), "encoders.text"),
    **dict.fromkeys(("load", "open_trace", "save", "wrap"), "checkpoints"),
    "AudioEncoder": "encoders.audio",
    "ImageEncoder": "encoders.image",
    "JointEncoder": "encoders.joint",
    "Run": "run.values",
    "Sound": "inputs.sound",
    "Trace": "trace.trace",
    "VideoEncoder": "encoders.video",
    "attentions": "trace.attention_maps",
    "explain_score": "scores.explained",
    "open_sound": "inputs.sound_files",
    "show": "export.notebook",
    "vectors": "probe.features",
}

verbs.above = provided


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(importlib.import_module(f"encoder.{_MODULE_OF[name]}"), name)
    elif not name.startswith("_") and importlib.util.find_spec(f"encoder.{name}") is not None:
        value = importlib.import_module(f"encoder.{name}")
    else:
        raise AttributeError(f"module 'encoder' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
