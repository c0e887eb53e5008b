"""The checks of the fields of a config: a whole number within bounds, a small constant, a word, a flag."""

import numbers
import sys
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from encoder.errors import ConfigError, quoted

#: The largest size, and the most layers. No encoder comes near; larger ones overflow, or take for ever to build.
MOST, MAX_LAYERS = 10_000_000, 1_024
#: A whole number beyond this is not a number of floating point.
LARGEST = sys.float_info.max


def check_whole(name: str, value: Any, low: int, high: int = MOST) -> None:
    """Raise ConfigError unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ConfigError(f"{name}={quoted(value)} is not a whole number: choose {low} to {high:,}.")
    if int(value) < low:
        raise ConfigError(f"{name}={quoted(value)} is too small: choose {low} or more.")
    if int(value) > high:
        raise ConfigError(f"{name}={quoted(value)} is too large: choose {high:,} or less.")


def settle_eps(config: Any, name: str) -> None:
    """Make this field of a frozen dataclass a float: as a whole number it may be too large for a tensor.

    Raises ConfigError unless it is a finite number from 0 on: a negative one may be under a root.
    """
    value = getattr(config, name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= LARGEST:
        raise ConfigError(f"{name}={quoted(value)} is out of range: choose a finite number from 0 on.")
    object.__setattr__(config, name, float(value))


def check_kinds(config: Any) -> None:
    """Raise ConfigError for a field of a dataclass that has none of its Literal's words, or is not a flag."""
    kind: Any = type(config)
    words, flags = _kinds(kind)
    for name, allowed in words.items():
        if (value := getattr(config, name)) not in allowed:
            raise ConfigError(f"{name}={quoted(value)} is unknown: choose one of {', '.join(allowed)}.")
    for name in flags:
        if not isinstance(value := getattr(config, name), bool):
            raise ConfigError(f"{name}={quoted(value)} is not a flag: choose true or false.")


def settle_factors(config: Any, *names: str) -> None:
    """Make these fields of a frozen dataclass floats: as whole numbers they may be too large for a tensor. None stays.

    Raises ConfigError for 0 and what is not finite.
    """
    for name in names:
        value = getattr(config, name)
        if value is None:
            continue
        if not 0.0 < abs(value) <= LARGEST:
            raise ConfigError(f"{name}={value} is out of range: choose a finite number above 0.")
        object.__setattr__(config, name, float(value))


@cache
def _kinds(kind: type) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The fields with a Literal type, with their words, and the flags."""
    hints = get_type_hints(kind)
    words = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}
    return words, tuple(name for name, hint in hints.items() if hint is bool)
