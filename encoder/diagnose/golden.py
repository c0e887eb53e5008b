"""Golden files: texts with the vectors that a model gives them, against which another program is checked.

A golden file is safetensors: vectors [N, D'], ids and vectors of tokens of some layers of each text, and in its header
the format, the texts, a tolerance for each number type, the fingerprint, and the run that made it.

Shapes: N texts, T tokens of a text, D width of the residual stream, D' width of a vector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from encoder import disk
from encoder.checkpoints import load
from encoder.diagnose import comparing
from encoder.diagnose.faults.precision import TOLERANCES
from encoder.diagnose.fingerprint import Fingerprint, fingerprint
from encoder.diagnose.folders import text_encoder
from encoder.diagnose.pipeline import Pipeline
from encoder.diagnose.probes import probes
from encoder.diagnose.vector_files import NUMBER_BYTES
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.json_file import check_regular, safetensors_texts
from encoder.run import ModelSpec, Run, Text
from encoder.run.address import read, write_text

FORMAT = "encoderscope golden 1"


@dataclass(frozen=True, eq=False)
class Golden:
    """What a golden file holds."""

    #: What `encoder.load` opens, and what goes in: the first text.
    run: Run
    #: The texts, without the prompt.
    texts: tuple[str, ...]
    #: What is put before each.
    prompt: str
    #: float32 [N, D'].
    vectors: np.ndarray
    #: The tokens of each text.
    ids: tuple[tuple[int, ...], ...]
    #: Layer -> the residual stream before it, [T, D] of each text; the number of layers: the output.
    layers: Mapping[int, tuple[np.ndarray, ...]]
    #: Number type -> the largest relative difference.
    tolerances: Mapping[str, float]
    #: Of the model.
    fingerprint: Fingerprint
    #: The format of the file.
    format: str = field(default=FORMAT)

    def differences(self, vectors: np.ndarray) -> np.ndarray:
        """[N]: the largest difference of each text, as a share of its largest number. Raises EncoderError."""
        comparing.check(vectors, len(self.texts))
        return comparing.relative(vectors.astype(np.float32), self.vectors)

    def tolerance(self, precision: str) -> float:
        """The largest difference that a number type may have. Raises EncoderError for another type."""
        if precision not in self.tolerances:
            raise EncoderError(f"precision={quoted(precision)} is unknown: choose one of {', '.join(self.tolerances)}.")
        return self.tolerances[precision]


def make(
    source: str | Path,
    texts: Sequence[str] = (),
    *,
    model: TextEncoder | None = None,
    layers: Sequence[int] = (),
    prompt: str | None = None,
) -> Golden:
    """The golden vectors of a model. texts: by default the probes; layers: whose token vectors are kept, too."""
    model = model or text_encoder(load(source, device="cpu"))
    texts = tuple(texts) or probes(model)
    pipeline = Pipeline.of(model, prompt)
    for layer in layers:
        if not 0 <= layer <= model.config.n_layers:
            raise EncoderError(f"No layer {layer} in this model: choose 0 to {model.config.n_layers}.")
    kept: dict[int, list[np.ndarray]] = {layer: [] for layer in layers}
    for layer in layers:
        front = pipeline.with_front(layer=layer, batch=1).front
        kept[layer] = [one.output[0].float().cpu().numpy() for one in front.states(texts)]
    rows = pipeline.front.rows(texts)
    before = pipeline.front.prompt
    return Golden(
        Run(ModelSpec(str(source)), Text(before + texts[0])),
        texts,
        before,
        pipeline.vectors(texts),
        tuple(row.ids for row in rows),
        {layer: tuple(values) for layer, values in kept.items()},
        {"float32": comparing.SAME, **{name: value for name, value in TOLERANCES.items() if name != "float32"}},
        fingerprint(model, prompt),
    )


def write_golden(golden: Golden, file: str | Path) -> None:
    """Write a golden file, whole or not at all. Raises SaveError where it cannot be written."""
    from safetensors.numpy import save

    arrays = {"vectors": golden.vectors, "ids": np.concatenate([np.array(one, np.int64) for one in golden.ids])}
    arrays["lengths"] = np.array([len(one) for one in golden.ids], np.int64)
    for layer, values in golden.layers.items():
        arrays[f"layers.{layer}"] = np.concatenate(values)
    about = {
        "format": golden.format,
        "run": write_text(golden.run),
        "texts": json.dumps(golden.texts, ensure_ascii=False),
        "prompt": golden.prompt,
        "tolerances": json.dumps(dict(golden.tolerances)),
        "fingerprint": golden.fingerprint.as_json(),
    }
    disk.write_file(file, save(arrays, about))


def read_golden(file: str | Path) -> Golden:
    """Read a golden file. Raises EncoderError for anything else."""
    from safetensors.numpy import load as load_arrays

    path = Path(file)
    try:
        check_regular(path, NUMBER_BYTES)
        content = path.read_bytes()
        about, arrays = safetensors_texts(content), load_arrays(content)
        if about.get("format") != FORMAT:
            raise EncoderError(
                f"{path.name} has the format {quoted(about.get('format'))}, not {FORMAT}: write it again."
            )
        lengths = [int(one) for one in arrays["lengths"]]
        ends = np.cumsum(lengths)[:-1]
        texts = tuple(map(str, json.loads(about["texts"])))
        found = Golden(
            read(dict(parse_qsl(about["run"]))),
            texts,
            about["prompt"],
            arrays["vectors"].astype(np.float32),
            tuple(tuple(map(int, one)) for one in np.split(arrays["ids"], ends)),
            {
                int(name[7:]): tuple(np.split(value, ends))
                for name, value in arrays.items()
                if name.startswith("layers.")
            },
            {str(name): float(value) for name, value in json.loads(about["tolerances"]).items()},
            Fingerprint.parse(about["fingerprint"]),
        )
        comparing.check(found.vectors, len(texts))
        if len(lengths) != len(texts):
            raise EncoderError(f"{path.name} has tokens of {len(lengths)} texts, not {len(texts)}: write it again.")
    except EncoderError:
        raise
    except OSError as error:
        raise EncoderError(f"No file {str(path)[:200]} ({error.strerror}): specify a golden file.") from error
    except Exception as error:  # a file from anywhere
        raise EncoderError(
            f"{path.name} is not a golden file ({quoted(str(error))}): write one with golden write."
        ) from error
    return found


def about(golden: Golden) -> dict[str, Any]:
    """What a golden file holds, in a few words."""
    return {
        "format": golden.format,
        "model": golden.run.model.source,
        "texts": len(golden.texts),
        "width": int(golden.vectors.shape[1]),
        "layers": sorted(golden.layers),
        "fingerprint": golden.fingerprint.id,
    }
