"""Files of vectors from anywhere -> one array: npy, npz, safetensors, Parquet, CSV, JSON, JSONL, answers of servers.

A file is measured before it is read, nothing is unpickled, and an answer has bounded numbers.

Shapes: N texts, D' width of a vector.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from encoder.errors import EncoderError, quoted
from encoder.inputs.json_file import check_regular

#: Bytes of a file of text (JSON, JSONL, CSV), and of one of numbers.
TEXT_BYTES, NUMBER_BYTES = 100_000_000, 500_000_000
#: Numbers of all vectors together: 2,000 texts of 16,384.
MOST_NUMBERS = 33_000_000
#: Names under which files have vectors, the first that is there.
NAMES = (
    "vectors",
    "embeddings",
    "embedding",
    "sentence_embedding",
    "sentence_embeddings",
    "vector",
    "dense_vecs",
    "data",
)
#: Depth of an answer's lists and objects.
MOST_DEPTH = 8
FORMATS = (".npy", ".npz", ".safetensors", ".parquet", ".csv", ".tsv", ".json", ".jsonl")


def read_vectors(file: str | Path | bytes, name: str = "") -> np.ndarray:
    """A file, or its content with a name -> float32 [N, D']. Raises EncoderError for anything else in it."""
    path = None if isinstance(file, bytes) else Path(file)
    name = name if path is None else path.name
    suffix = Path(name).suffix.lower()
    if suffix not in FORMATS:
        raise EncoderError(f"{name[:80]} has no known format: choose a file that ends in {', '.join(FORMATS)}.")
    content = file if isinstance(file, bytes) else _content(Path(file), suffix)
    try:
        return as_array(READERS[suffix](content), name)
    except EncoderError:
        raise
    except MemoryError as error:
        raise EncoderError(f"{name} does not fit into memory: send fewer inputs.") from error
    except Exception as error:  # a file from anywhere may raise anything in a decoder
        raise EncoderError(
            f"{name} cannot be read ({type(error).__name__}: {quoted(str(error))}): save it again."
        ) from error


def read_pasted(text: str) -> np.ndarray:
    """JSON that a person pasted -> float32 [N, D']. Raises EncoderError for anything else."""
    try:
        return as_array(READERS[".json"](text.encode("utf-8", "replace")), "What you pasted")
    except EncoderError:
        raise
    except Exception as error:  # as of a file
        raise EncoderError(
            f"What you pasted is not JSON ({quoted(str(error))}): paste all of it, from the first bracket to the last."
        ) from error


def _content(path: Path, suffix: str) -> bytes:
    most = TEXT_BYTES if suffix in (".json", ".jsonl", ".csv", ".tsv") else NUMBER_BYTES
    try:
        check_regular(path, most)
        return path.read_bytes()
    except EncoderError as error:
        raise EncoderError(str(error).replace("download it again", "send fewer inputs")) from error
    except OSError as error:
        raise EncoderError(f"No file {str(path)[:200]} ({error.strerror}): specify the file of vectors.") from error


def as_array(found: Any, name: str = "The answer") -> np.ndarray:
    """Numbers of any nesting -> float32 [N, D']. Raises EncoderError, also for vectors of different widths."""
    try:
        array = np.asarray(found, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise EncoderError(
            f"{name} has no table of numbers: specify one vector of one width for each input."
        ) from error
    if array.ndim == 3 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 1 and array.size:
        array = array[None]
    if array.ndim == 3:
        raise EncoderError(
            f"{name} has vectors of tokens, {array.shape}: the other program does not pool. Pool them, or send one "
            "vector for each input."
        )
    if array.ndim != 2 or not array.size:
        raise EncoderError(f"{name} has numbers of the shape {array.shape}: specify one vector for each input.")
    if array.size > MOST_NUMBERS:
        raise EncoderError(
            f"{name} has {array.size:,} numbers, and at most {MOST_NUMBERS:,} are read: send fewer inputs."
        )
    return array


def _counted(shape: tuple[int, ...], name: str = "The file") -> None:
    """Raise EncoderError for too many numbers, before any is decoded."""
    if any(length < 0 for length in shape) or math.prod(shape) > MOST_NUMBERS:
        raise EncoderError(
            f"{name} has {math.prod(shape):,} numbers, and at most {MOST_NUMBERS:,} are read: send fewer inputs."
        )


# --- arrays ---------------------------------------------------------------------------------------------------------


def _npy(content: bytes) -> np.ndarray:
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = read(file)
    if kind.hasobject:
        raise EncoderError("The array holds pickled objects, which can run code: save plain numbers with numpy.save.")
    _counted(shape)
    file.seek(0)
    found: np.ndarray = np.load(file, allow_pickle=False)
    return found


def _npz(content: bytes) -> np.ndarray:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        chosen = members[_named(members)]
        if chosen.file_size > NUMBER_BYTES:
            raise EncoderError(f"The array has {chosen.file_size / 1e6:,.0f} MB: send fewer inputs.")
        with archive.open(chosen) as file:
            return _npy(file.read(NUMBER_BYTES))


def _named(names: Any) -> str:
    """The name of the vectors among the names of a file. Raises EncoderError where none is one."""
    known = list(names)
    for name in NAMES:
        if name in known:
            return name
    if len(known) == 1:
        return str(known[0])
    raise EncoderError(f"The file has {quoted(known)}: name the vectors {NAMES[0]}.")


def _safetensors(content: bytes) -> np.ndarray:
    from safetensors.torch import load

    tensors = load(content)
    chosen = tensors[_named(tensors)]
    _counted(tuple(chosen.shape))
    found: np.ndarray = chosen.float().numpy()
    return found


# --- tables ---------------------------------------------------------------------------------------------------------


def _parquet(content: bytes) -> Any:
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(content))
    unpacked = sum(file.metadata.row_group(at).total_byte_size for at in range(file.metadata.num_row_groups))
    if unpacked > NUMBER_BYTES:
        raise EncoderError(f"The table has {unpacked / 1e6:,.0f} MB unpacked: send fewer inputs.")
    table = file.read()
    names = [name for name in NAMES if name in table.column_names]
    if names:
        return table.column(names[0]).to_pylist()
    return _columns(table.to_pandas())


def _columns(table: Any) -> np.ndarray:
    """The columns of numbers, without a number of the text that precedes them."""
    numeric = table.select_dtypes("number")
    numeric = numeric[[name for name in numeric if str(name).lower() not in ("text", "id", "index", "unnamed: 0")]]
    _counted(numeric.shape)
    found: np.ndarray = numeric.to_numpy()
    return found


def _csv(content: bytes) -> np.ndarray:
    import pandas as pd

    head = content[:10_000].decode("utf-8-sig", "replace").splitlines()[:1]
    separator = max(",;\t ", key=head[0].count) if head else ","
    cells = [cell.strip().strip('"') for cell in head[0].split(separator)] if head else []
    has_header = any(not _is_number(cell) for cell in cells)
    table = pd.read_csv(io.BytesIO(content), sep=separator, header=0 if has_header else None, encoding="utf-8-sig")
    for name in NAMES:
        if name in table and table[name].dtype.kind not in "if":  # lists as text
            return np.asarray([json.loads(one) for one in table[name]])
    return _columns(table)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json(content: bytes) -> Any:
    return vectors_of(_parsed(content))


def _json_lines(content: bytes) -> Any:
    return [_one(_parsed(line)) for line in content.splitlines() if line.strip()]


def _one(found: Any) -> Any:
    """The vector of a line: a list, or an object that has one."""
    vectors = vectors_of(found)
    return vectors[0] if vectors and isinstance(vectors[0], list) else vectors


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content)
    except RecursionError as error:
        raise EncoderError("The JSON is nested too deeply to be vectors: save a list of lists of numbers.") from error


def vectors_of(found: Any, depth: int = 0) -> Any:
    """The vectors in an answer: a list of lists, or OpenAI's, TEI's, Ollama's, llama.cpp's or Cohere's object.

    Raises EncoderError for an answer without vectors, with its own error where it has one.
    """
    if depth > MOST_DEPTH:
        raise EncoderError("The JSON is nested too deeply to be vectors: save a list of lists of numbers.")
    if isinstance(found, dict):
        if "error" in found:
            raise EncoderError(f"The other program answers with an error: {quoted(found['error'])}.")
        if "float" in found:  # Cohere's embeddings by type
            return vectors_of(found["float"], depth + 1)
        for name in NAMES:
            if name in found:
                return vectors_of(found[name], depth + 1)
        raise EncoderError(f"The JSON has the names {quoted(sorted(found)[:8])}: name the vectors {NAMES[0]}.")
    if isinstance(found, str):
        return _of_base64(found)
    if isinstance(found, list) and found and all(isinstance(one, dict) for one in found):
        if all(isinstance(one.get("index"), int) for one in found):
            found = sorted(found, key=lambda one: one["index"])
        return [_one_of(one, depth) for one in found]
    if not isinstance(found, list) or not found:
        raise EncoderError(f"The JSON holds {quoted(found)}, and no vectors: save a list of lists of numbers.")
    return found


def _one_of(found: dict[str, Any], depth: int) -> Any:
    vector = vectors_of(found, depth + 1)
    return (
        vector[0]
        if isinstance(vector, list) and vector and isinstance(vector[0], list) and len(vector) == 1
        else vector
    )


def _of_base64(text: str) -> list[float]:
    """A vector as OpenAI's encoding_format "base64" has it: float32, little endian."""
    try:
        content = base64.b64decode(text, validate=True)
        return [float(one) for one in np.frombuffer(content, dtype="<f4")]
    except (binascii.Error, ValueError) as error:
        raise EncoderError(f"The vector is the text {quoted(text[:40])}: save numbers.") from error


READERS: dict[str, Callable[[bytes], Any]] = {
    ".npy": _npy, ".npz": _npz, ".safetensors": _safetensors, ".parquet": _parquet, ".csv": _csv, ".tsv": _csv,
    ".json": _json, ".jsonl": _json_lines,
}  # fmt: skip
