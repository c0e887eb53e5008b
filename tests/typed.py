"""Whether a value has a type of Python's annotations, as JSON will have it."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict


def mismatches(value: Any, type_: Any, place: str = "") -> list[str]:
    """Where a value differs from a type, in words; nothing if it has the type. Numbers of numpy are no JSON."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is NotRequired:
        return mismatches(value, arguments[0], place)
    if type_ in (Any, object):
        return []
    if is_typeddict(type_):
        return _of_fields(value, type_, place)
    if origin in (typing.Union, types.UnionType):
        return [] if any(not mismatches(value, one) for one in arguments) else [f"{place}: {value!r} is no {type_}"]
    if origin is Literal:
        return [] if value in arguments else [f"{place}: {value!r} is none of {arguments}"]
    if origin in (list, Sequence):
        if isinstance(value, (list, tuple)):
            return [said for at, one in enumerate(value) for said in mismatches(one, arguments[0], f"{place}[{at}]")]
    elif origin is tuple:
        if isinstance(value, (list, tuple)) and len(value) == len(arguments):
            pairs = enumerate(zip(value, arguments, strict=True))
            return [said for at, (one, of) in pairs for said in mismatches(one, of, f"{place}[{at}]")]
    elif origin in (dict, Mapping):
        if isinstance(value, Mapping):
            names, values = arguments
            return [
                said
                for name, one in value.items()
                for said in mismatches(name, names, place) + mismatches(one, values, f"{place}.{name}")
            ]
    else:
        expected = {float: (float, int), int: (int,), type(None): (type(None),)}.get(type_, (type_,))
        if isinstance(value, expected) and (type_ is bool or not isinstance(value, bool)):
            return []
    return [f"{place}: {value!r} is no {type_}"]


def _of_fields(value: Any, type_: Any, place: str) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{place}: {value!r} is no {type_.__name__}"]
    fields = get_type_hints(type_, include_extras=True)
    said = [f"{place}.{name} is missing" for name in sorted(type_.__required_keys__ - value.keys())]
    said += [f"{place}.{name} is not in {type_.__name__}" for name in sorted(value.keys() - fields.keys())]
    known = value.keys() & fields.keys()
    return said + [one for name in sorted(known) for one in mismatches(value[name], fields[name], f"{place}.{name}")]
