"""Which atlases a visitor may open: the bundled ones, and the operator's.

On one's own machine any folder opens. A shared server opens the folders below `--atlases-root` and no others.
"""

import os
from pathlib import Path

import streamlit as st

from encoder import EncoderError, corpus
from encoder.checkpoints import BUNDLED, inside
from encoder.corpus import Atlas, Tokens
from encoder.errors import AtlasError
from encoder.measure.head_measures import HeadMeasures, head_measures
from pages.base.access import visitors
from pages.core.stores import cache
from pages.core.view import View
from pages.core.words import plain, say_error, screen_name
from pages.state import Param, state, string

ROOT = "ENCODERSCOPE_ATLASES_ROOT"
#: What the choice is called in the address: a typed folder, one of the operator's.
FOLDER, OFFERED = "folder", "server:"


@state.register
class AtlasParams:
    """Which atlas is open: "" is the one of the chosen model; a folder on one's own machine."""

    atlas: Param[str] = string(public="an atlas of this server, chosen from a list")
    folder: Param[str] = string(url="atlas_folder")


def root() -> str | None:
    """The operator's folder of atlases, or None."""
    return os.environ.get(ROOT) or None


def offered() -> dict[str, str]:
    """Name in the address -> title of every atlas that this visitor may open, but for a typed folder."""
    found = {name: f"{BUNDLED[name].title}, WordNet’s sentences" for name in corpus.bundled_atlases()}
    return found | {OFFERED + name: f"{screen_name(name)} (of this server)" for name in _folders()}


def _folders() -> list[str]:
    home = root()
    if home is None or not os.path.isdir(home):
        return []
    return sorted(entry.name for entry in os.scandir(home) if entry.is_dir() and not entry.name.startswith("."))


def opened(name: str) -> Atlas:
    """The atlas of a name in the address. Raises AtlasError for one that is not offered or cannot be opened."""
    bundled = corpus.bundled_atlases()
    if name in bundled:
        return _open(bundled[name])
    home = root()
    if name.startswith(OFFERED) and home is not None:
        try:
            return _open(inside(home, name.removeprefix(OFFERED)))
        except EncoderError as error:
            raise AtlasError(str(error).replace(str(Path(home).resolve()), Path(home).name)) from None
    if name == FOLDER and home is None and visitors.for_one_person():
        typed = state.get(AtlasParams.folder).strip()
        if not typed:
            raise AtlasError("No folder is named: type the folder of an atlas.")
        return _open(Path(typed).expanduser())
    raise AtlasError("This atlas is not offered here: choose another.")


def _open(folder: Path) -> Atlas:
    """An atlas, opened once for all sessions until its manifest changes."""
    try:
        changed = (folder / "manifest.json").stat().st_mtime_ns
    except (OSError, ValueError):
        changed = None
    return cache.computed(("atlas", str(folder), changed), lambda: corpus.open_atlas(folder))  # type: ignore[no-any-return]


def belongs(view: View, atlas: Atlas) -> bool:
    """Whether the chosen model made the atlas: its weights, tokenizer and architecture are the same."""
    if view.loaded.takes != "text":
        return False
    config, about = view.loaded.config, atlas.manifest["model"]
    shape = (config.n_layers, config.n_heads, config.d_model, config.norm_placement)
    if shape != tuple(about.get(name) for name in ("n_layers", "n_heads", "d_model", "norm_placement")):
        return False
    key = view.model
    return cache.computed(("model hash", key), lambda: corpus.model_about(view.loaded)["sha256"]) == atlas.model_sha256


def of_model(view: View) -> Atlas | None:
    """The first offered atlas that the chosen model made."""
    for name in offered():
        try:
            atlas = opened(name)
        except AtlasError:
            continue  # a damaged folder of the operator's is named where it is chosen
        if belongs(view, atlas):
            return atlas
    return None


def choose(view: View) -> Atlas | None:
    """Draw the choice of an atlas. None, with a sentence that says why, where there is none to show."""
    own = of_model(view)
    names = {"": "This model’s: none yet" if own is None else f"This model’s: {texts_of(own)}", **offered()}
    if root() is None and visitors.for_one_person():
        names[FOLDER] = "A folder"
    if (asked := state.newest(AtlasParams.atlas)) not in names:
        state.note(f"The link asks for the atlas {asked[:60]!r}, which is not offered here.")
    name = state.selectbox(
        AtlasParams.atlas, "Atlas", names, help="An atlas has the measures of all heads of one model over many texts."
    )
    if name == FOLDER:
        state.bound(
            st.text_input, AtlasParams.folder, "Folder of the atlas", help="Built with: encoderscope corpus build"
        )
    try:
        if name:
            return opened(name)
    except AtlasError as error:
        say_error(error)
        return None
    if own is None:
        st.info(
            f"No atlas of {plain(view.loaded.name)} here: choose another, or build it by `encoderscope corpus build`.",
            icon=":material/dataset:",
        )
    return own


def tokens(atlas: Atlas, layer: int) -> Tokens:
    """The tokens of an atlas with their vectors at a layer, loaded once for all sessions. Raises AtlasError."""
    what = ("tokens", str(atlas.folder), atlas.manifest_sha256, layer)
    return cache.computed(what, lambda: corpus.load_tokens(atlas, layer))  # type: ignore[no-any-return]


def texts_of(atlas: Atlas) -> str:
    """The corpus in a few words: "2,000 sentences of WordNet", "312 texts of stars.csv". Not escaped for Markdown."""
    source = atlas.manifest.get("source", {})
    name = str(source.get("name", ""))
    if name == corpus.BUNDLED:
        return f"{atlas.n_texts:,} sentences of WordNet"
    return f"{atlas.n_texts:,} texts" + (f" of {screen_name(name)}" if name else "")


def here(view: View, atlas: Atlas) -> HeadMeasures:
    """The measures of this sentence, with the atlas' threshold of a strong weight."""
    return view.derived(("measures", "all", atlas.strong), lambda trace: head_measures(trace, strong=atlas.strong))


def python(atlas: Atlas) -> str:
    """Python for the folder of an atlas; the folder of a bundled one is known, that of any other is the reader's."""
    known = {folder: name for name, folder in corpus.bundled_atlases().items()}
    name = known.get(atlas.folder)
    return f'corpus.bundled_atlases()["{name}"]' if name else 'Path("the-folder-of-the-atlas")'
