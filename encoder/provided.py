"""The functions that `encoder.verbs` lists, for the modules below; each imports what it calls at its first call.

`encoder/__init__` imports this module, so that `import encoder` loads neither torch nor drawings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from encoder.edits import Edit
    from encoder.encoders.generate import Generation
    from encoder.encoders.named import NamedEncoder
    from encoder.encoders.seq2seq import Decoder
    from encoder.gradients import Gradients
    from encoder.trace.trace import Trace


def html(subject: object) -> str:
    from encoder.export import display

    return display.html(subject)


def gradients(trace: Trace, outcome: Any) -> Gradients:
    from encoder.gradients import gradients

    return gradients(trace.model, trace, outcome)


def save_trace(trace: Trace, file: str | Path, *, weights: bool) -> Path:
    from encoder.checkpoints import traces

    return traces.save(trace, file, weights=weights)


def save_html(trace: Trace, file: str | Path, layer: int, head: int, **options: Any) -> Path:
    from encoder.export import saved

    return saved.save_html(trace, file, layer, head, **options)


def generate(
    model: NamedEncoder,
    writer: Decoder,
    trace: Trace,
    max_tokens: int,
    beams: int,
    target: Any,
    begin: Sequence[str],
    decoder_edits: Sequence[Edit],
) -> Generation:
    from encoder.encoders import generate

    return generate.generate(model, writer, trace, max_tokens, beams, target, begin, decoder_edits)
