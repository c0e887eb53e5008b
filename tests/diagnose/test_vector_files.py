"""Vectors come from every format that servers and notebooks write; hostile files are refused in a sentence."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from encoder.diagnose.vector_files import MOST_NUMBERS, read_pasted, read_vectors
from encoder.errors import EncoderError

VECTORS = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
LISTS = [[float(one) for one in row] for row in VECTORS]


def written(folder: Path, name: str) -> Path:
    """The vectors in a file whose name says how."""
    path = folder / name
    stem, suffix = path.stem, path.suffix
    if suffix == ".npy":
        np.save(path, VECTORS)
    elif suffix == ".npz":
        np.savez_compressed(path, vectors=VECTORS, sentences=np.array(list("abcd")))
    elif suffix == ".safetensors":
        save_file({"embeddings": VECTORS, "other": np.zeros(3, np.float32)}, path)
    elif stem == "columns":
        table = pd.DataFrame(VECTORS, columns=[f"v{at}" for at in range(6)])
        table.insert(0, "sentence", list("abcd"))
        table.to_parquet(path) if suffix == ".parquet" else table.to_csv(path, index=False)
    elif suffix == ".parquet":
        pd.DataFrame({"text": list("abcd"), "embedding": LISTS}).to_parquet(path)
    elif stem == "plain":
        pd.DataFrame(VECTORS).to_csv(path, index=False, header=False)
    elif suffix == ".csv":
        pd.DataFrame({"embedding": [json.dumps(one) for one in LISTS]}).to_csv(path, index=False)
    else:
        path.write_text(ANSWERS[stem] if suffix == ".json" else LINES[stem])
    return path


def encoded(row: list[float]) -> str:
    return base64.b64encode(np.array(row, "<f4").tobytes()).decode()


IN_ANY_ORDER = [{"object": "embedding", "index": at, "embedding": LISTS[at]} for at in (2, 0, 3, 1)]
ANSWERS = {
    "lists": json.dumps(LISTS),
    "openai": json.dumps({"object": "list", "data": IN_ANY_ORDER, "model": "m", "usage": {"total_tokens": 9}}),
    "base64": json.dumps({"data": [{"index": at, "embedding": encoded(row)} for at, row in enumerate(LISTS)]}),
    "ollama": json.dumps({"model": "m", "embeddings": LISTS, "total_duration": 12}),
    "llama": json.dumps([{"index": at, "embedding": [row]} for at, row in enumerate(LISTS)]),
    "cohere": json.dumps({"embeddings": {"float": LISTS}}),
}
LINES = {
    "vectors": "\n".join(json.dumps(row) for row in LISTS),
    "objects": "\n".join(json.dumps({"text": "a", "embedding": row}) for row in LISTS),
}
NAMES = (
    "a.npy", "a.npz", "a.safetensors", "lists.parquet", "columns.parquet", "columns.csv", "plain.csv", "lists.csv",
    *(f"{name}.json" for name in ANSWERS), *(f"{name}.jsonl" for name in LINES),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_format_gives_the_same_vectors(name: str, tmp_path: Path):
    np.testing.assert_allclose(read_vectors(written(tmp_path, name)), VECTORS, atol=1e-6)


def npy(array: np.ndarray, **options: bool) -> bytes:
    content = io.BytesIO()
    np.save(content, array, **options)
    return content.getvalue()


def header_of(shape: str) -> bytes:
    """A file whose header declares a shape that it does not hold."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def bomb() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vectors.npy", bytes(600_000_000))
    return content.getvalue()


HOSTILE = {
    "pickled.npy": (npy(np.array([{"a": 1}], dtype=object), allow_pickle=True), "pickle"),
    "huge.npy": (header_of(f"({MOST_NUMBERS}, 2)"), "fewer"),
    "short.npy": (header_of("(4, 6)"), "cannot be read"),
    "text.npy": (b"not an array", "cannot be read"),
    "tokens.npy": (npy(np.zeros((2, 3, 4))), "pool"),
    "numbers.npy": (npy(np.zeros((0, 4))), "one vector"),
    "words.npy": (npy(np.array(["a", "b"])), "numbers"),
    "deep.json": (b"[" * 200_000 + b"]" * 200_000, "nested"),
    "widths.json": (b"[[1.0, 2.0], [1.0]]", "width"),
    "error.json": (b'{"error": {"message": "no such model"}}', "no such model"),
    "empty.json": (b"[]", "no vectors"),
    "other.json": (b'{"a": 1}', "vectors"),
    "number.json": (b"3", "no vectors"),
    "text.json": (b'["a", "b"]', "numbers"),
    "broken.json": (b'{"data": [', "cannot be read"),
    "broken.parquet": (b"PAR1xxxx", "cannot be read"),
    "broken.safetensors": (b"\xff" * 40, "cannot be read"),
    "other.txt": (b"1 2 3", ".npy"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_a_sentence(name: str, tmp_path: Path):
    content, said = HOSTILE[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(EncoderError, match=said):
        read_vectors(path)


@pytest.mark.slow("packs 600 MB of zeros")
def test_a_bomb_is_not_unpacked(tmp_path: Path):
    (tmp_path / "bomb.npz").write_bytes(bomb())
    with pytest.raises(EncoderError, match="600 MB"):
        read_vectors(tmp_path / "bomb.npz")


def test_a_file_of_gigabytes_is_not_read(tmp_path: Path):
    path = tmp_path / "sparse.json"
    with path.open("wb") as file:
        file.truncate(5_000_000_000)
    with pytest.raises(EncoderError, match="5,000 MB"):
        read_vectors(path)


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(EncoderError, match="gone"):
        read_vectors(tmp_path / "gone.npy")


@pytest.mark.parametrize("text", ["[1,2", "[[1, 2],]", "vectors", "{", '{"data": [[1, "a"]]}'])
def test_what_was_pasted_is_not_called_a_file(text: str):
    with pytest.raises(EncoderError) as refusal:
        read_pasted(text)
    assert "save it again" not in str(refusal.value)
    assert "ou pasted" in str(refusal.value)


def test_pasted_vectors_are_read():
    np.testing.assert_allclose(read_pasted("[[1, 2], [3, 4]]"), [[1, 2], [3, 4]])
