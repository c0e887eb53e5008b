"""The check of a size: a whole number within bounds."""

from __future__ import annotations

import numbers
from typing import Any

from encoder.errors import ConfigError, quoted

#: The largest size, and the most layers. No encoder comes near; larger ones overflow, or take for ever to build.
MOST, MAX_LAYERS = 10_000_000, 1_024


def check_whole(name: str, value: Any, low: int, high: int = MOST) -> None:
    """Raise ConfigError unless `value` is a whole number from `low` to `high`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise ConfigError(f"{name}={quoted(value)} is no whole number: choose {low} to {high:,}.")
    if int(value) < low:
        raise ConfigError(f"{name}={quoted(value)} is too small: choose {low} or more.")
    if int(value) > high:
        raise ConfigError(f"{name}={quoted(value)} is too large: choose {high:,} or less.")
