"""The recording context: what a forward pass shows at its hook points is kept, edited where asked, and handed out once.

Safe with many threads over one model: the recorder lives in a ContextVar, the model is never changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from encoder.edits import Edit, ValueEdit
from encoder.errors import EncoderError
from encoder.heap import keep_freed_memory
from encoder.hooks import visiting

#: Hook points that grow with H x T^2 or F x T, kept only when asked for by name.
ON_REQUEST = ("scores", "ffn.hidden", "z")


class Recorder:
    """Keeps the values of one forward pass by hook-point name, and applies edits on the way.

    Values are kept by reference: the forward pass writes to none of them afterwards.
    """

    def __init__(self, edits: tuple[Edit, ...] = (), request: tuple[str, ...] = ()) -> None:
        self.values: dict[str, Tensor] = {}
        self._value_edits = [edit for edit in edits if isinstance(edit, ValueEdit)]
        self._score_edits = [edit for edit in edits if not isinstance(edit, ValueEdit)]
        self._skipped = tuple(name for name in ON_REQUEST if name not in request)
        self._request = request

    def visit(self, name: str, value: Tensor) -> Tensor:
        """Record and, where an edit says so, replace the value at `name`."""
        if name.endswith(".scores"):
            layer = int(name.split(".")[1])
            for edit in self._score_edits:
                if edit.touches(layer):
                    value = edit.edit_scores(value)
        else:
            for change in self._value_edits:
                value = change.edit_value(name, value)
        if not name.endswith(self._skipped):
            self.values[name] = value
        return value

    def edits_scores(self, layer: int) -> bool:
        """Whether the scores of `layer` must be written out, because they are edited or asked for."""
        return "scores" in self._request or any(edit.touches(layer) for edit in self._score_edits)


@contextmanager
def record(edits: tuple[Edit, ...] = (), request: tuple[str, ...] = ()) -> Iterator[Recorder]:
    """Within, forward passes of this thread are recorded (and edited). Nested recordings hide the outer one.

    request: hook points kept although they are large: "ffn.hidden", "z", "scores". Raises EncoderError for another.
    """
    for name in request:
        if name not in ON_REQUEST:
            raise EncoderError(f"request={name!r}: what is kept on request is {', '.join(ON_REQUEST)}.")
    keep_freed_memory()
    recorder = Recorder(edits, request)
    with visiting(recorder):
        yield recorder
