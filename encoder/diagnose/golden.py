"""Golden files: inputs with the vectors that a model gives them, against which another program is checked.

A golden file is safetensors: vectors [N, D'], ids and vectors of tokens of some layers of each text, and in its header
the format, the texts, a tolerance for each number type, the fingerprint, and the run that made it. One of images or
sounds holds their files in place of ids, and their names in place of texts.

Shapes: N texts, T tokens of a text, D width of the residual stream, D' width of a vector.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import torch

from encoder import disk
from encoder.checkpoints import load
from encoder.diagnose import comparing
from encoder.diagnose.faults.precision import TOLERANCES
from encoder.diagnose.fingerprint import Fingerprint, fingerprint
from encoder.diagnose.folders import signal_encoder, text_encoder
from encoder.diagnose.media import Inputs, Media, MediaPipeline, content, named, probe_files
from encoder.diagnose.pipeline import Pipeline
from encoder.diagnose.probes import probes
from encoder.diagnose.vector_files import NUMBER_BYTES
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder
from encoder.errors import EncoderError, quoted
from encoder.inputs.json_file import check_regular, safetensors_texts
from encoder.inputs.layout import InputKind
from encoder.run import Media as MediaInput
from encoder.run import ModelSpec, Run, Text
from encoder.run.address import read, write_text

#: Of texts, and of files.
FORMAT, FORMAT_OF_FILES = "encoderscope golden 1", "encoderscope golden 2"


@dataclass(frozen=True, eq=False)
class Golden:
    """What a golden file holds."""

    #: What `encoder.load` opens, and what goes in: the first text.
    run: Run
    #: The texts, without the prompt; or the names of the files.
    texts: tuple[str, ...]
    #: What is put before each.
    prompt: str
    #: float32 [N, D'].
    vectors: np.ndarray
    #: The tokens of each text; none of files.
    ids: tuple[tuple[int, ...], ...]
    #: Layer -> the residual stream before it, [T, D] of each text; the number of layers: the output.
    layers: Mapping[int, tuple[np.ndarray, ...]]
    #: Number type -> the largest relative difference.
    tolerances: Mapping[str, float]
    #: Of the model.
    fingerprint: Fingerprint
    #: Images or sounds by their names; none of texts.
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def format(self) -> str:
        """The format of the file."""
        return FORMAT_OF_FILES if self.files else FORMAT

    @property
    def inputs(self) -> tuple[str, ...] | Mapping[str, bytes]:
        """What another program gets, as `find` accepts it."""
        return self.files or self.texts

    @property
    def takes(self) -> InputKind:
        """What the model accepts."""
        return self.run.input.kind if isinstance(self.run.input, MediaInput) else "text"

    def model_of(self, opened: object) -> TextEncoder | SignalEncoder:
        """The encoder whose vectors these are, of what `load` opens. Raises EncoderError where it has none."""
        return signal_encoder(opened) if self.files else text_encoder(opened)

    def differences(self, vectors: np.ndarray | torch.Tensor) -> np.ndarray:
        """[N]: the largest difference of each text, as a share of its largest number. Raises EncoderError."""
        found = comparing.as_numpy(vectors)
        comparing.check(found, len(self.texts))
        return comparing.relative(found.astype(np.float32), self.vectors)

    def tolerance(self, precision: str) -> float:
        """The largest difference that a number type may have. Raises EncoderError for another type."""
        if precision not in self.tolerances:
            raise EncoderError(f"precision={quoted(precision)} is unknown: choose one of {', '.join(self.tolerances)}.")
        return self.tolerances[precision]


def make(
    source: str | Path,
    texts: Inputs = (),
    *,
    model: TextEncoder | SignalEncoder | None = None,
    layers: Sequence[int] = (),
    prompt: str | None = None,
) -> Golden:
    """The golden vectors of a model. texts: by default the probes; of images and sounds, Paths or contents of files;
    model: the encoder of `source` that is meant, by default that of texts; layers: whose token vectors are kept, too.

    Raises EncoderError for inputs that the model does not accept.
    """
    model = model or text_encoder(load(source, device="cpu"))
    for layer in layers:
        if not 0 <= layer <= model.config.n_layers:
            raise EncoderError(f"No layer {layer} in this model: choose 0 to {model.config.n_layers}.")
    files: dict[str, bytes] = {}
    ids: tuple[tuple[int, ...], ...] = ()
    pipeline: Pipeline
    before = ""
    if isinstance(model, SignalEncoder):
        given = named(model, texts) if len(texts) else probe_files(model.takes)
        files = {name: content(one) for name, one in given.items()}
        names, pipeline = tuple(files), MediaPipeline.of_media(model, Media.of(model, files))
        run = Run(ModelSpec(str(source), tower=model.takes), MediaInput(model.takes, names[0]))
    else:
        names, pipeline = tuple(texts) or probes(model), Pipeline.of(model, prompt)
        before, ids = pipeline.front.prompt, tuple(row.ids for row in pipeline.front.rows(names))
        run = Run(ModelSpec(str(source)), Text(before + names[0]))
    return Golden(
        run,
        names,
        before,
        pipeline.vectors(names),
        ids,
        {layer: _token_vectors(pipeline, names, layer) for layer in layers},
        {"float32": comparing.SAME, **{name: value for name, value in TOLERANCES.items() if name != "float32"}},
        fingerprint(model, prompt),
        files,
    )


def _token_vectors(pipeline: Pipeline, names: Sequence[str], layer: int) -> tuple[np.ndarray, ...]:
    """The residual stream before a layer, [T, D] of each input."""
    front = pipeline.with_front(layer=layer, batch=1).front
    return tuple(one.output[0].float().cpu().numpy() for one in front.states(names))


def write_golden(golden: Golden, file: str | Path) -> None:
    """Write a golden file, whole or not at all. Raises SaveError where it cannot be written."""
    from safetensors.numpy import save

    arrays = {"vectors": golden.vectors}
    of_tokens: Sequence[Sequence[int] | np.ndarray] = golden.ids or next(iter(golden.layers.values()), ())
    lengths = [len(one) for one in of_tokens]
    if golden.files:
        arrays["files"] = np.frombuffer(b"".join(golden.files.values()), np.uint8)
        arrays["sizes"] = np.array([len(one) for one in golden.files.values()], np.int64)
    else:
        arrays["ids"] = np.concatenate([np.array(one, np.int64) for one in golden.ids])
    arrays["lengths"] = np.array(lengths, np.int64)
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
        written = path.read_bytes()
        about, arrays = safetensors_texts(written), load_arrays(written)
        if about.get("format") not in (FORMAT, FORMAT_OF_FILES):
            raise EncoderError(
                f"{path.name} has the format {quoted(about.get('format'))}, not {FORMAT}: write it again."
            )
        texts = tuple(map(str, json.loads(about["texts"])))
        has_files = about["format"] == FORMAT_OF_FILES
        found = Golden(
            read(dict(parse_qsl(about["run"]))),
            texts,
            about["prompt"],
            arrays["vectors"].astype(np.float32),
            () if has_files else tuple(tuple(map(int, one)) for one in _parts(arrays, "ids", len(texts))),
            {int(name[7:]): _parts(arrays, name, len(texts)) for name in arrays if name.startswith("layers.")},
            {str(name): float(value) for name, value in json.loads(about["tolerances"]).items()},
            Fingerprint.parse(about["fingerprint"]),
            dict(zip(texts, (one.tobytes() for one in _parts(arrays, "files", len(texts), "sizes")), strict=True))
            if has_files
            else {},
        )
        comparing.check(found.vectors, len(found.inputs))
    except EncoderError:
        raise
    except OSError as error:
        raise EncoderError(f"No file {str(path)[:200]} ({error.strerror}): specify a golden file.") from error
    except Exception as error:  # a file from anywhere
        raise EncoderError(
            f"{path.name} is not a golden file ({quoted(str(error))}): write one with golden write."
        ) from error
    return found


def _parts(arrays: Mapping[str, np.ndarray], name: str, n: int, lengths: str = "lengths") -> tuple[np.ndarray, ...]:
    """What an array has of each input. Raises ValueError where the lengths of the parts do not fit."""
    sizes = arrays[lengths]
    if len(sizes) != n or (sizes < 0).any() or sizes.sum() != len(arrays[name]):
        raise ValueError(f"{name} does not have the parts of {n} inputs")
    return tuple(np.split(arrays[name], np.cumsum(sizes)[:-1]))
