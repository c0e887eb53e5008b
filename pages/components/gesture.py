"""`gesture`: a question that is answered by hand, with pointer, finger and keyboard alike."""

from collections.abc import Callable, Mapping
from typing import Any

from encoder.drawing import wire

from . import assets, events

_render = assets.component("gesture")


def gesture(
    header: Mapping[str, Any],
    *,
    key: str,
    given: Any = None,
    truth: Any = None,
    whose: str = "your answer",
    on_answer: Callable[[Any], None] | None = None,
) -> None:
    """Draws what is to be done.

    Args:
        header: `does` and what it needs, as in pages/teaching/questions/gestures.py.
        key: the widget's key.
        given: an answer that was given before, or None.
        truth: the right answer, which ends the drawing, or None.
        whose: what the legend calls `given`.
        on_answer: called with an answer before the page runs. It may be anything: the question reads it.
    """
    _render(
        key=key,
        data=wire.pack({**header, "given": given, "truth": truth, "whose": whose}, {}),
        on_answer_change=lambda: events.tell(key, "answer", _answer, on_answer),
    )


def _answer(value: object) -> Any:
    """What an event holds, or None for anything else that a browser may send."""
    return value.get("answer") if isinstance(value, dict) else None
