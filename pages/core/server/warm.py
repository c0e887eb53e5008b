"""What every visit needs, loaded before a process behind a front answers.

The front sends visitors to the other processes until this one listens. Otherwise the first visitors of a process wait
for torch and for the model: at the start of a lesson, or when a process has just ended and its visitors return.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Set by `encoderscope serve` for its processes.
FRONT = "ENCODERSCOPE_FRONT"


def begin(environment: Mapping[str, str]) -> None:
    """Behind a front: import the engine, the frame and what pages import late; run a text through the first model."""
    if FRONT not in environment:
        return
    import sklearn.decomposition  # noqa: F401

    from pages.core.frame import frame  # noqa: F401
    from pages.core.stores import cache

    cache.trace(cache.ModelKey(), "Warm")
