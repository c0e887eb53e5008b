"""The checks of the fields of a config: a whole number within bounds, a small constant, a flag."""

from __future__ import annotations

import numbers
import sys
from typing import Any

from encoder.errors import ConfigError, quoted

#: The largest size, and the most layers. No encoder comes near; larger ones overflow, or take for ever to build.
MOST, MAX_LAYERS = 10_000_000, 1_024


def check_whole(name: str, value: Any, low: int, high: int = MOST) -> None:
    """Raise ConfigError unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ConfigError(f"{name}={quoted(value)} is not a whole number: choose {low} to {high:,}.")
    if int(value) < low:
        raise ConfigError(f"{name}={quoted(value)} is too small: choose {low} or more.")
    if int(value) > high:
        raise ConfigError(f"{name}={quoted(value)} is too large: choose {high:,} or less.")


def check_eps(name: str, value: Any) -> None:
    """Raise ConfigError unless `value` is a finite number from 0 on: a negative one may be under a root."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= sys.float_info.max:
        raise ConfigError(f"{name}={quoted(value)} is out of range: choose a finite number from 0 on.")


def check_flags(config: object, *names: str) -> None:
    """Raise ConfigError unless each of these attributes is True or False."""
    for name in names:
        if not isinstance(value := getattr(config, name), bool):
            raise ConfigError(f"{name}={quoted(value)} is not a flag: choose true or false.")
