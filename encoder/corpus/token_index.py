"""Tokens of an atlas, ready for search: arrays in files that are mapped.

    for share in corpus.iter_index(atlas, 6): ...    # writes ATLAS/index/layer.6
    tokens = corpus.load_tokens(atlas, 6)            # opens it at once

Without these files `load_tokens` reads the parts of the atlas: 20 s for three million tokens. Mapped files take no
memory of the process, and several processes share them.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from encoder import disk
from encoder.corpus.atlas import Atlas
from encoder.corpus.token_search import MOST_TOKENS, Room, Tokens, in_memory, read_tokens
from encoder.errors import AtlasError, SaveError

FOLDER, ABOUT = "index", "about.json"
#: What the list of the folder's files calls it.
KIND = "an index of tokens"
ARRAYS = ("vectors", "codes", "texts", "positions", "starts", "ends", "behaviour")
#: Larger ones are mapped from a temporary file.
MOST_IN_MEMORY = 256_000_000


def load_tokens(atlas: Atlas, layer: int, most: int | None = None) -> Tokens:
    """The tokens of an atlas with their vectors at a layer, special tokens left out.

    All of them where `iter_index` has run; otherwise those of whole parts, up to `most` tokens (MOST_TOKENS). Raises
    AtlasError for an atlas without vectors of this layer, and for a damaged index.
    """
    folder = _folder(atlas, layer)
    if most is None and folder.is_dir():
        return _opened(atlas, folder)
    most = MOST_TOKENS if most is None else most
    if min(most, atlas.n_tokens) * 2 * atlas.d_model <= MOST_IN_MEMORY:
        return _read(atlas, layer, most, in_memory)
    try:
        # The files are removed at once; what is mapped stays until it is forgotten.
        with tempfile.TemporaryDirectory(prefix="encoderscope-tokens-", ignore_cleanup_errors=True) as place:
            return _read(atlas, layer, most, _files(Path(place)))
    except OSError as error:
        raise AtlasError(f"The vectors of {atlas.folder.name} do not fit here: {error.strerror or error}.") from None


def _read(atlas: Atlas, layer: int, most: int, room: Room) -> Tokens:
    *_, (_, tokens) = read_tokens(atlas, layer, most, room)
    return tokens


def iter_index(atlas: Atlas, layer: int) -> Iterator[float]:
    """Write the tokens of a layer in a form that opens at once.

    Yields the share that is done. Raises AtlasError for an atlas without vectors of this layer or a folder that cannot
    be written.
    """
    n_tokens = sum(int((~atlas.tokens(part, ["special"])["special"]).sum()) for part in atlas.parts())
    if not n_tokens:
        raise AtlasError("This atlas has no vectors of tokens: build it with --vectors.")
    try:
        with disk.whole_folder(_folder(atlas, layer), KIND, _written_earlier) as part:
            for share, found in read_tokens(atlas, layer, n_tokens, _files(part)):
                tokens = found
                yield share
            about = {"manifest": atlas.manifest_sha256, "tokens": len(tokens), "vocabulary": tokens.vocabulary}
            disk.write_file(part / ABOUT, json.dumps(about))
    except SaveError as error:
        raise AtlasError(f"The index of {atlas.folder.name} cannot be written. {error}") from None


def _written_earlier(folder: Path) -> set[str]:
    """The files of an index from before it had a list."""
    return {ABOUT, *(f"{name}.npy" for name in ARRAYS)} if (folder / ABOUT).is_file() else set()


def _opened(atlas: Atlas, folder: Path) -> Tokens:
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        # Mode "c" makes writable arrays, as torch wants them, and never changes the file.
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="c", allow_pickle=False) for name in ARRAYS}
        fits = about["manifest"] == atlas.manifest_sha256
        fits &= {array.shape[0] for name, array in arrays.items() if name != "behaviour"} == {about["tokens"]}
        fits &= arrays["behaviour"].shape[-1] == about["tokens"]
        fits &= 0 <= arrays["codes"].min() <= arrays["codes"].max() < len(about["vocabulary"])
    except (OSError, EOFError, ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        raise AtlasError(f"The index of {atlas.folder.name} is damaged, or of another atlas: remove {FOLDER}/ in it.")
    return Tokens(**arrays, vocabulary=tuple(about["vocabulary"]), model=atlas.model_name)


def _folder(atlas: Atlas, layer: int) -> Path:
    return atlas.folder / FOLDER / f"layer.{layer}"


def _files(place: Path) -> Room:
    def room(name: str, shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray:
        if not all(shape):
            return np.empty(shape, dtype=kind)  # nothing can be mapped
        path = place / f"{name}.npy"
        array: np.ndarray = np.lib.format.open_memmap(path, "w+", kind, shape)
        if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and not the end of the process later
            with open(path, "rb+") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        return array

    return room
