"""UMAP of a collection: points of the plane whose nearest neighbours stay near (McInnes, Healy and Melville 2018).

umap-learn (BSD) is an extra, `pip install "encoderscope[umap]"`: with numba and LLVM it takes 200 MB. It compiles
itself when it starts and holds Python's lock meanwhile, so it has a process of its own, this file as a program. The
first map takes about a minute. Distances between groups have no meaning, and another seed gives another map.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from encoder.search.collection import Collection

#: Neighbours of a text that stay near, texts at most, and the fewest.
NEIGHBOURS, MOST, FEWEST = 15, 20_000, 4
#: Seconds between two signs of life.
PAUSE = 0.5


def umap_is_installed() -> bool:
    """Whether umap-learn is there."""
    from importlib.util import find_spec

    return find_spec("umap") is not None


def iter_umap(collection: Collection) -> Generator[float, None, np.ndarray]:
    """Points float32 [N, 2]; yields the seconds that passed. Close it to end the process.

    Raises EncoderError without umap-learn, for fewer than FEWEST or more than MOST texts, and where UMAP fails.
    """
    from encoder.errors import EncoderError

    if not umap_is_installed():
        raise EncoderError('This map needs umap-learn: pip install "encoderscope[umap]". PCA works without it.')
    if not FEWEST <= len(collection) <= MOST:
        raise EncoderError(
            f"UMAP accepts {FEWEST} to {MOST:,} texts, and there are {len(collection):,}: choose PCA, or other texts."
        )
    file = io.BytesIO()
    np.save(file, collection.vectors, allow_pickle=False)
    environment = {**os.environ, "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    begin, pipe = time.monotonic(), subprocess.PIPE
    child = subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", __file__], env=environment, stdin=pipe, stdout=pipe, stderr=pipe
    )
    said: list[bytes] = []
    # A second call of `communicate` after a timeout forgets what is left to send, so the one call has a thread.
    talk = threading.Thread(target=lambda: said.extend(child.communicate(file.getvalue())), daemon=True)
    talk.start()
    try:
        while talk.is_alive():
            talk.join(PAUSE)
            yield time.monotonic() - begin
    finally:
        child.kill()
        talk.join()
    points, complaint = said
    if child.returncode:
        why = (complaint.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1][:200]
        raise EncoderError(f"UMAP failed: {why}. Choose PCA, or install umap-learn again.")
    return np.load(io.BytesIO(points), allow_pickle=False)


def _main() -> None:
    """Vectors as .npy from the standard input, points as .npy to the standard output."""
    if hasattr(os, "nice"):
        os.nice(10)
    vectors = np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False)
    import umap

    neighbours = min(NEIGHBOURS, len(vectors) - 1)
    points = umap.UMAP(n_neighbors=neighbours, metric="cosine", random_state=0).fit_transform(vectors)
    file = io.BytesIO()
    np.save(file, np.asarray(points, dtype=np.float32), allow_pickle=False)
    sys.stdout.buffer.write(file.getvalue())


if __name__ == "__main__":
    _main()
