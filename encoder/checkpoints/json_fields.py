"""The frozen dataclasses of our own config.json, checked field by field."""

import dataclasses
import sys
import types
import typing
from collections.abc import Iterator
from typing import Any, Literal

from encoder.errors import LoadError, quoted


def from_fields(kind: type, fields: Any, where: str = "") -> Any:
    """A JSON object -> the frozen dataclass `kind`. Raises LoadError for an unknown, missing or wrong field.

    A field that the object does not name gets its default, so older checkpoints stay readable.
    """
    if not isinstance(fields, dict):
        raise LoadError(
            f"config.json has no object {quoted(where)} with the fields of {kind.__name__}: save the model again."
        )
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(fields) - set(hints))
    if unknown:
        raise LoadError(
            f"config.json's {where} has an unknown field {quoted(unknown[0])}: update the program, or remove the field."
        )
    for field in dataclasses.fields(kind):
        needed = field.default is field.default_factory is dataclasses.MISSING
        if needed and field.name not in fields:
            raise LoadError(f"config.json's {where} has no {field.name}: save the model again.")
    inside = f"{where}." if where else ""
    return kind(**{name: _value(hints[name], value, inside + name) for name, value in fields.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    """A JSON value in the type `hint`: lists become tuples, objects the dataclass that the hint names."""
    kind = _fitting(list(_dataclasses_in(hint)), value)
    if isinstance(value, list):
        value = tuple(from_fields(kind, one, where) if kind and isinstance(one, dict) else one for one in value)
    elif kind and isinstance(value, dict):
        value = from_fields(kind, value, where)
    if not _fits(hint, value):
        raise LoadError(f"config.json has {where}={quoted(value)}, which has the wrong type: save the model again.")
    return value


def _fitting(kinds: list[type], value: Any) -> type | None:
    """The first of some dataclasses that has all fields of an object; else the first."""
    names = set(value) if isinstance(value, dict) else set()
    fits = (kind for kind in kinds if names <= {field.name for field in dataclasses.fields(kind)})
    return next(fits, kinds[0] if kinds else None)


def _dataclasses_in(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from _dataclasses_in(part)


def _fits(hint: Any, value: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(option, value) for option in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin is tuple:
        kinds = typing.get_args(hint)
        if not isinstance(value, tuple):
            return False
        if kinds[-1] is Ellipsis:
            return all(_fits(kinds[0], entry) for entry in value)
        return len(value) == len(kinds) and all(map(_fits, kinds, value))
    if origin is dict:
        key, entry = typing.get_args(hint)
        return isinstance(value, dict) and all(_fits(key, one) and _fits(entry, value[one]) for one in value)
    if hint is float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and (isinstance(value, float) or abs(value) <= sys.float_info.max)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)
