"""The recording context: it keeps the values that a forward pass shows at its hook points, and applies edits to them.

Many threads can use one model: the recorder is in a ContextVar, and the model is never changed.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from encoder.edits import Edit, apply_edits, edits_at
from encoder.errors import EncoderError, quoted
from encoder.model.device import keep_freed_memory
from encoder.model.hooks import visiting

#: Hook points that are recorded only on request: large ones (H x T^2 or T x F numbers), and ones that would keep a
#: sublayer's output in memory while the next sublayer runs.
ON_REQUEST = (
    "scores", "pattern", "z", "attention_out", "ffn.hidden", "ffn_out", "cross.scores", "cross.pattern", "cross.z",
    "cross_out", "adapter.hidden", "adapter_out", "first_ffn.hidden", "first_ffn_out", "convolution.hidden",
    "convolution_out",
)  # fmt: skip
#: The hook points that only the explicit attention path has.
EXPLICIT = ("scores", "pattern", "cross.scores", "cross.pattern")


class Recorder:
    """Keeps the values of one forward pass by name ("embedding", "layers.0.q"), and applies edits.

    Values are kept by reference: the forward pass does not write to them afterwards.
    """

    def __init__(self, edits: tuple[Edit, ...] = (), request: tuple[str, ...] = ()) -> None:
        self.values: dict[str, Tensor] = {}
        self._edits = edits
        self._skipped = frozenset((*ON_REQUEST, "positions")).difference(request)

    def visit(self, name: str, layer: int | None, value: Tensor) -> Tensor:
        """Apply the edits of this hook point and record the result."""
        if self._edits:
            value = apply_edits(self._edits, name, layer, value)
        if name not in self._skipped:
            self.values[name if layer is None else f"layers.{layer}.{name}"] = value
        return value

    def needs_scores(self, layer: int) -> bool:
        """Whether the scores or the weights of `layer` are edited or recorded."""
        edited = any(edits_at(self._edits, point, layer) for point in EXPLICIT)
        return edited or not self._skipped.issuperset(EXPLICIT)


@contextmanager
def record(edits: tuple[Edit, ...] = (), request: tuple[str, ...] = ()) -> Iterator[Recorder]:
    """Inside, forward passes of this thread are recorded (and edited). A nested recording hides the outer one.

    request: further hook points to record, of `ON_REQUEST`. Raises EncoderError for other names. Edits that take values
    from texts must be resolved (`Edit.resolve`), as `trace` does.
    """
    for name in request:
        if not isinstance(name, str) or name not in ON_REQUEST:
            raise EncoderError(
                f"request={quoted(name)} is not a hook point on request: choose from {', '.join(ON_REQUEST)}."
            )
    keep_freed_memory()
    recorder = Recorder(edits, request)
    with visiting(recorder):
        yield recorder
