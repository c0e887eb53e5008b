"""The bundled atlases: 2,000 example sentences of WordNet in each bundled text model. `make atlas` builds them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from encoder.corpus.manifest import MANIFEST
from encoder.load import BUNDLED

FOLDER = Path(__file__).parent.parent / "data" / "atlases"


def bundled_atlases() -> dict[str, Path]:
    """Name of a bundled model -> the folder of its atlas, which `open_atlas` opens."""
    return dict(_found())


@cache
def _found() -> dict[str, Path]:
    """Read once: they belong to the installed package, and pages ask in each run."""
    return {name: FOLDER / name for name in BUNDLED if (FOLDER / name / MANIFEST).is_file()}
