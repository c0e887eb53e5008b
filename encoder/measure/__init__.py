"""Measures of a trace: measures and types of heads, similarity, norm-weighted attention, rollout, norms.

    >>> measure.heads(trace)["entropy"].shape       # [L, H]
    (6, 12)
    >>> rollout = measure.rollout(trace, 5)         # [T, T]
    >>> norms = measure.norm_weighted(trace, 0, 2)  # [T, T]
    >>> length = measure.stream(trace).length       # [L + 1]

Functions of traces and attention maps without side effects. They read maps chunk by chunk, so that long texts fit.
pandas and scikit-learn are imported only when a function needs them. Four functions have the names of their modules:
such a module is called like its function, and `measure.heads.survey` is still found.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from encoder.errors import EncoderError

if TYPE_CHECKING:
    from encoder.measure.head_definitions import HEAD_MEASURES, register
    from encoder.measure.head_divergence import head_similarity
    from encoder.measure.head_types import find as head_types_of
    from encoder.measure.heads import HeadMeasures
    from encoder.measure.heads import head_measures as heads
    from encoder.measure.norm_weighted import norm_weighted, value_norms, value_output
    from encoder.measure.norms import statistics as norm_statistics
    from encoder.measure.rollout import rollout, rollouts
    from encoder.measure.stream import StreamMeasures
    from encoder.measure.stream import measure as stream

__all__ = [
    "HEAD_MEASURES", "HeadMeasures", "StreamMeasures", "head_similarity", "head_types_of", "heads",
    "norm_statistics", "norm_weighted", "register", "rollout", "rollouts", "stream", "value_norms", "value_output",
]  # fmt: skip
#: Public name -> its module, and the name there.
_FUNCTIONS = {
    "HEAD_MEASURES": "head_definitions.HEAD_MEASURES",
    "HeadMeasures": "heads.HeadMeasures",
    "StreamMeasures": "stream.StreamMeasures",
    "head_similarity": "head_divergence.head_similarity",
    "head_types_of": "head_types.find",
    "norm_statistics": "norms.statistics",
    "register": "head_definitions.register",
    "rollouts": "rollout.rollouts",
    "value_norms": "norm_weighted.value_norms",
    "value_output": "norm_weighted.value_output",
}
#: A module -> the function that calling it calls.
_CALLED = {"heads": "head_measures", "norm_weighted": "norm_weighted", "rollout": "rollout", "stream": "measure"}


def __getattr__(name: str) -> Any:
    if name in _CALLED:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, wanted = _FUNCTIONS[name].partition(".")
    return getattr(importlib.import_module(f"{__name__}.{module}"), wanted)


def __dir__() -> list[str]:
    return __all__


class _Function(ModuleType):
    """A module that is called like the function of its name."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        if args and isinstance(args[0], (str, list, tuple)):
            raise EncoderError("A measure accepts one Trace: specify model.trace(text), or use encoder.corpus.over.")
        return self.__wrapped__(*args, **options)

    @property
    def __wrapped__(self) -> Any:  # where `help` and Tab find the arguments
        return getattr(self, _CALLED[self.__name__.rpartition(".")[2]])


class _Package(ModuleType):
    """Makes a module of `_CALLED` callable when it is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _CALLED and isinstance(value, ModuleType):
            value.__class__ = _Function
            called = getattr(value, _CALLED[name])
            value.__doc__ = f"{name}{inspect.signature(called)}\n\n{called.__doc__}\n\n{value.__doc__}"
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
