"""What a lower module can do by a higher one: `Trace.save_html` draws, and drawings are made of traces.

A method such as `Trace.save_html` calls `verbs.above.save_html`, so it imports nothing from above. `encoder/__init__`
sets `above` to `encoder.provided`, the one module that has the functions. `Above` lists them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pathlib import Path


class Above(Protocol):
    """The functions that lower modules call. A trace and a model have no type here: they are made above this module."""

    def html(self, subject: object) -> str:
        """`Shown._repr_html_`: what a notebook shows of an object."""

    def gradients(self, trace: Any, outcome: Any) -> Any:
        """`Trace.gradients`."""

    def save_trace(self, trace: Any, file: str | Path, *, weights: bool) -> Path:
        """`Trace.save`."""

    def save_html(self, trace: Any, file: str | Path, layer: int, head: int, **options: Any) -> Path:
        """`Trace.save_html`."""

    def generate(
        self,
        model: Any,
        writer: Any,
        trace: Any,
        max_tokens: int,
        beams: int,
        target: Any,
        begin: Any,
        decoder_edits: Any,
    ) -> Any:
        """`NamedEncoder.generate`. writer: the model's decoder."""


#: Set by `encoder/__init__`, which runs before any other module of the package.
above: Above
