"""Bytes of what the caches keep."""

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from itertools import chain
from sys import getsizeof
from typing import Any
from weakref import WeakKeyDictionary

from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.model.encoder import Encoder
from encoder.trace.trace import Trace

#: Values without parts, whose size Python knows.
PLAIN = (str, bytes, int, float, complex, type(None))
#: An estimate for a value of any other kind.
UNKNOWN = 10_000


def trace_bytes(trace: Trace) -> int:
    """Bytes of a trace: each storage counts once, the model's own storages do not."""
    models = _storages(trace.encoder)
    kept = [*trace.values.values(), *([] if trace.pixels is None else [trace.pixels])]
    storages = {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes() for value in kept}
    return sum(n_bytes for storage, n_bytes in storages.items() if storage not in models)


def _storages(encoder: Encoder) -> frozenset[int]:
    """Addresses of a model's storages, found once: its weights never move."""
    if encoder not in _STORAGES:
        _STORAGES[encoder] = frozenset(weight.untyped_storage().data_ptr() for weight in encoder.parameters())
    return _STORAGES[encoder]


_STORAGES: WeakKeyDictionary[Encoder, frozenset[int]] = WeakKeyDictionary()


def model_bytes(model: NamedEncoder | JointEncoder) -> int:
    """Bytes of a model's weights; two placements that share weights both count them, two towers only once."""
    modules = [one for tower in model.towers.values() for one in (tower.encoder, *tower.heads.values())]
    weights = {id(weight): weight for weight in chain.from_iterable(one.parameters() for one in modules)}
    return sum(weight.numel() * weight.element_size() for weight in weights.values())


def value_bytes(value: Any) -> int:
    """Bytes of a result: of its arrays and texts, inside tuples, lists, mappings and dataclasses, too.

    The weights of a model do not count: the store of models counts them.
    """
    return _bytes(value, set())


def _bytes(value: Any, counted: set[int]) -> int:
    """The same, without the values whose ids are in `counted`; it adds those that it counts."""
    if id(value) in counted or isinstance(value, Encoder | NamedEncoder | JointEncoder):
        return 0
    counted.add(id(value))
    if isinstance(value, Trace):
        return trace_bytes(value)
    if isinstance(n_bytes := getattr(value, "nbytes", None), int):
        return n_bytes
    if is_dataclass(value):
        parts: Iterable[Any] = vars(value).values()
    elif isinstance(value, Mapping):
        parts = chain.from_iterable(value.items())
    elif isinstance(value, tuple | list | set | frozenset):
        parts = value
    else:
        return getsizeof(value) if isinstance(value, PLAIN) else UNKNOWN
    return getsizeof(value) + sum(_bytes(part, counted) for part in parts)
