"""Bytes of what the caches keep."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from encoder.joint_encoder import JointEncoder
from encoder.model import Encoder
from encoder.named_encoder import NamedEncoder
from encoder.trace import Trace


def trace_bytes(trace: Trace) -> int:
    """Bytes of a trace: each storage counts once, the model's own storages do not."""
    models = _storages(trace.encoder)
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in trace.values.values()}
    return sum(n_bytes for storage, n_bytes in storages.items() if storage not in models)


def _storages(encoder: Encoder) -> frozenset[int]:
    """Addresses of a model's storages, found once: its weights never move."""
    if encoder not in _STORAGES:
        _STORAGES[encoder] = frozenset(weight.untyped_storage().data_ptr() for weight in encoder.parameters())
    return _STORAGES[encoder]


_STORAGES: WeakKeyDictionary[Encoder, frozenset[int]] = WeakKeyDictionary()


def model_bytes(model: NamedEncoder | JointEncoder) -> int:
    """Bytes of a model's weights; two placements that share weights both count them."""
    if isinstance(model, JointEncoder):
        return model_bytes(model.text) + model_bytes(model.image)
    return sum(parameter.numel() * parameter.element_size() for parameter in model.encoder.parameters())


def value_bytes(value: Any) -> int:
    """Bytes of an array; 10 kB for anything else."""
    return int(getattr(value, "nbytes", 10_000))
