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

from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np

from encoder.checkpoints import load
from encoder.diagnose.endpoint import Endpoint
from encoder.diagnose.example import example
from encoder.diagnose.faults import FAULTS, Fault, register
from encoder.diagnose.fingerprint import Fingerprint, fingerprint
from encoder.diagnose.folders import Check, Finding, check, folder_of, lengths_of, text_encoder
from encoder.diagnose.golden import Golden, read_golden, write_golden
from encoder.diagnose.golden import make as make_golden
from encoder.diagnose.onnx_file import embed_by_onnx
from encoder.diagnose.pipeline import STAGES, Pipeline
from encoder.diagnose.probes import probes
from encoder.diagnose.search import MOST_TOGETHER, Step, check_texts, diagnose_gradually
from encoder.diagnose.vector_files import read_vectors
from encoder.diagnose.verdict import Verdict
from encoder.encoders.text import TextEncoder
from encoder.trace import gradual

__all__ = [
    "FAULTS", "STAGES", "Check", "Endpoint", "Fault", "Finding", "Fingerprint", "Golden", "Pipeline", "Step", "Verdict",
    "check", "embed_by_onnx", "example", "find", "find_gradually", "fingerprint", "make_golden", "probes",
    "read_golden", "read_vectors", "register", "write_golden",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def find_gradually(
    source: str | Path | TextEncoder,
    texts: Sequence[str],
    vectors: np.ndarray,
    *,
    prompt: str | None = None,
    precision: str = "float32",
    batch: int | None = None,
    others: Sequence[str | Path | TextEncoder] = (),
    together: int = MOST_TOGETHER,
) -> Generator[Step, None, Verdict]:
    """As `find`, but a generator that yields its progress and returns the Verdict. Close it to stop early."""
    check_texts(texts)
    folder = None if isinstance(source, TextEncoder) else folder_of(source)
    return (
        yield from diagnose_gradually(
            _opened(source),
            texts,
            np.asarray(vectors),
            prompt=prompt,
            precision=precision,
            batch=batch,
            others=[_opened(one) for one in others],
            lengths=lengths_of(folder),
            folder=folder,
            together=together,
        )
    )


find = gradual.at_once(find_gradually, "find")
find.__doc__ = """Which fault gives exactly these vectors of another program: a Verdict.

source: a model, or what `encoder.load` opens; vectors: [N, D'], one for each text; prompt: what the reference puts
before each text (None: the model's own, "": none); precision: the number type of the other program; batch: texts in its
batches; others: models whose weights or tokenizers it may use; together: faults at once, 1 to 3. Raises EncoderError
for vectors that cannot belong to these texts.
"""


def _opened(source: str | Path | TextEncoder) -> TextEncoder:
    return source if isinstance(source, TextEncoder) else text_encoder(load(source))
