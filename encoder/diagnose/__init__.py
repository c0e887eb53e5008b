"""Why vectors of another program differ from a model's: faults as values, a search that runs each of them, a verdict.

    >>> from encoder import diagnose
    >>> texts = ["A cat sat on the mat.", "Vectors differ."]
    >>> model = encoder.load("minilm")
    >>> found = diagnose.find(model, texts, model.embed(texts).numpy())
    >>> found.verdict, found.faults
    ('sound', ())

`pipeline` is how vectors are made, `faults` what may be wrong with it, `search` finds out which of them is. `folders`
checks files without vectors, `golden` writes files against which other programs are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from encoder.checkpoints import load
from encoder.diagnose.comparing import as_numpy
from encoder.diagnose.endpoint import Endpoint
from encoder.diagnose.example import example_of
from encoder.diagnose.excluded import Excluded
from encoder.diagnose.faults import FAULTS, Fault, register
from encoder.diagnose.fingerprint import Fingerprint, fingerprint
from encoder.diagnose.folders import (
    Check,
    Finding,
    check,
    folder_of,
    iter_check,
    lengths_of,
    signal_encoder,
    text_encoder,
)
from encoder.diagnose.golden import Golden, read_golden, write_golden
from encoder.diagnose.golden import make as make_golden
from encoder.diagnose.media import Inputs, Media, MediaPipeline, media_probes, probe_files, write_probes
from encoder.diagnose.onnx_file import embed_by_onnx
from encoder.diagnose.pipeline import STAGES, Pipeline
from encoder.diagnose.probes import probes
from encoder.diagnose.search import Step, check_texts, diagnose_gradually
from encoder.diagnose.vector_files import read_pasted, read_vectors
from encoder.diagnose.verdict import MOST_TOGETHER, Verdict
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.trace import gradual

Model = NamedEncoder | JointEncoder

__all__ = [
    "FAULTS", "STAGES", "Check", "Endpoint", "Excluded", "Fault", "Finding", "Fingerprint", "Golden", "Pipeline",
    "Step", "Verdict", "check", "embed_by_onnx", "example", "find", "find_gradually", "fingerprint", "iter_check",
    "make_golden", "media_probes", "probe_files", "probes", "read_golden", "read_pasted", "read_vectors", "register",
    "write_golden", "write_probes",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def find_gradually(
    source: str | Path | Model,
    texts: Inputs,
    vectors: np.ndarray | torch.Tensor,
    *,
    prompt: str | None = None,
    precision: str = "float32",
    batch: int | None = None,
    others: Sequence[str | Path | Model] = (),
    together: int = MOST_TOGETHER,
    kept: Excluded | None = None,
    most_numbers: int | None = None,
    most_seconds: float | None = None,
) -> Generator[Step, None, Verdict]:
    """As `find`, but a generator that yields its progress and returns the Verdict. Close it to stop early."""
    folder = None if isinstance(source, NamedEncoder | JointEncoder) else folder_of(source)
    model = source if isinstance(source, NamedEncoder | JointEncoder) else load(source)
    base, names, of_kind = _base(model, texts, prompt, most_numbers)
    return (
        yield from diagnose_gradually(
            base,
            names,
            as_numpy(vectors),
            precision=precision,
            batch=batch,
            others=[of_kind(one if isinstance(one, NamedEncoder | JointEncoder) else load(one)) for one in others],
            lengths=lengths_of(folder),
            folder=folder,
            together=together,
            kept=kept,
            most_seconds=most_seconds,
        )
    )


def example(model: NamedEncoder, texts: Inputs) -> Verdict:
    """What `find` says of the vectors that this model gives with a fault that is known. Runs the model a few times.

    Raises EncoderError for a model to which none of the faults of the example makes a difference.
    """
    base, names, _ = _base(model, texts, None)
    return example_of(base, names)


def _base(
    model: Model, inputs: Inputs, prompt: str | None, most_numbers: int | None = None
) -> tuple[Pipeline, Sequence[str], Callable[[object], TextEncoder | SignalEncoder]]:
    """The right pipeline, the texts or the names of the media, and what finds the same tower of another model."""
    if not isinstance(inputs, Mapping) and (
        isinstance(inputs, str) or not inputs or any(isinstance(one, str) for one in inputs)
    ):
        check_texts(inputs)
        return Pipeline.of(text_encoder(model), prompt), inputs, text_encoder
    signals = signal_encoder(model)
    media = Media.of(signals, inputs, most_numbers)
    return MediaPipeline.of_media(signals, media), tuple(media.given), signal_encoder


find = gradual.at_once(find_gradually, "find")
find.__doc__ = """Which fault gives exactly these vectors of another program: a Verdict.

source: a model, or what `encoder.load` opens; texts: or images and sounds, as values that `prepare` accepts, as Paths
or contents of files, or as these by their names; vectors: [N, D'], one for each text; prompt: what the reference puts
before each text (None: the model's own, "": none); precision: the number type of the other program; batch: texts in its
batches (None: usual sizes are tried); others: models whose weights or tokenizers it may use; together: faults at once,
1 to 3; kept: what an earlier part of this search has excluded; most_numbers: pixels or samples of all images or sounds
(None: 200 million); most_seconds: after which the answer is that of what was searched. Raises EncoderError unless each
text has one vector, whose numbers are finite and not all 0.
"""
