"""An ONNX file as the other program: its vectors of some texts, by ONNX Runtime (the extra "onnx").

Shapes: B batch, T tokens, D' width of a vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from encoder.diagnose.pipeline import Pipeline, States
from encoder.diagnose.vector_files import as_array
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted

#: The largest file.
MOST_BYTES = 4_000_000_000
#: Inputs that a file may have besides its ids.
MASK, SEGMENTS, PLACES = "attention_mask", "token_type_ids", "position_ids"


def embed_by_onnx(
    model: TextEncoder, file: str | Path, texts: Sequence[str], *, prompt: str | None = None
) -> np.ndarray:
    """The vectors of an ONNX file, float32 [N, D'], each text by itself with the model's own tokens.

    A file that gives vectors of tokens is pooled as the model is, so a difference is one of the file. Raises
    EncoderError without ONNX Runtime, and for a file that is not such a model.
    """
    session = _session(Path(file))
    names = [one.name for one in session.get_inputs()]
    if unknown := [name for name in names if name not in ("input_ids", "input", "ids", MASK, SEGMENTS, PLACES)]:
        raise EncoderError(
            f"{Path(file).name} needs the input {quoted(unknown[0])}: choose a file of an encoder of texts."
        )
    pipeline = Pipeline.of(model, prompt)
    found = []
    for row in pipeline.front.rows(texts):
        given = {names[0]: row.ids, MASK: (1,) * len(row.ids), SEGMENTS: row.segments, PLACES: range(len(row.ids))}
        ids = next(name for name in names if name not in (MASK, SEGMENTS, PLACES))
        given[ids] = row.ids
        outputs = _run(
            session, {name: np.array([list(given[name])], dtype=np.int64) for name in names}, Path(file).name
        )
        vector = next((one for one in outputs if one.ndim == 2), None)
        tokens = next((one for one in outputs if one.ndim == 3), None)
        if tokens is not None:
            real = torch.ones(1, tokens.shape[1], dtype=torch.bool)
            special = torch.tensor([list(row.special)])
            states = States((0,), torch.from_numpy(tokens.astype(np.float32)), real, special, 0, model.encoder.pooler)
            vector = pipeline.end.of([states])
        if vector is None:
            raise EncoderError(f"{Path(file).name} gives no vectors: choose a file of an encoder of texts.")
        found.append(vector[0])
    return as_array(found, Path(file).name)


def _session(path: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise EncoderError("ONNX files need ONNX Runtime: pip install 'encoderscope[onnx]'.") from error
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        raise EncoderError(f"No ONNX file {str(path)[:200]} of at most {MOST_BYTES / 1e9:.0f} GB: specify another.")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = torch.get_num_threads()
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the library raises types of its own
        raise EncoderError(
            f"{path.name} is not an ONNX file that runs ({quoted(str(error))}): export it again."
        ) from error


def _run(session: Any, given: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    try:
        return [np.asarray(one) for one in session.run(None, given)]
    except Exception as error:  # as above
        raise EncoderError(f"{name} cannot run these texts ({quoted(str(error))}): export it again.") from error
