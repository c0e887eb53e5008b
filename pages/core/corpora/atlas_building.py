"""A button that builds an atlas of the reader's own texts in the chosen model. Only this session has it.

An atlas is a folder, so it is written to a temporary one, which is removed with the session.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from encoder import EncoderError, corpus
from pages.components.lazy import expander
from pages.core.access import limits
from pages.core.corpora import atlases
from pages.core.corpora.atlas_folders import Folder
from pages.core.inputs import kept_file
from pages.core.view import View
from pages.core.words import errors_said, plain
from pages.core.work import long_work

SOURCES = {"lines": "Lines", "file": "A file", "wordnet": "WordNet’s sentences"}
_FILE = "atlas:texts-of-file"


def panel(view: View) -> None:
    """Draw the part of the page, closed at first."""
    part = expander("Build an atlas of your own texts", "atlas-build", icon=":material/construction:")
    if part is None:
        return
    with part, errors_said():
        _build(view)


def _build(view: View) -> None:
    source = st.segmented_control(
        "Texts", list(SOURCES), default="lines", format_func=SOURCES.get, key="atlas:source", required=True
    )  # fmt: skip
    given = _given(str(source))
    tokens = limits.ATLAS_TOKENS.value
    cut = f", cut at {tokens} tokens" if tokens else ""
    st.caption(
        f"At most {limits.ATLAS_TEXTS.value:,} texts{cut}; token vectors of {limits.ATLAS_VECTORS.value:,} of them. "
        "They are in a temporary folder of the server, for your session only, and are deleted when you close the page."
    )
    if given is not None:
        built = long_work.result(
            "atlas-build", (view.model.of_model, given.digest), lambda: _work(view, given),
            label="Build the atlas", ask=f"{plain(view.loaded.name)} processes each text once.",
        )  # fmt: skip
        if built is not None:
            atlases.keep_built(*built)
            st.rerun()
    _of_session()


@dataclass(frozen=True)
class Given:
    """data: the bytes of a file, None for the bundled texts; name: its name; labels: columns of labels."""

    data: bytes | None
    name: str
    labels: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Names the texts by their content."""
        return hashlib.sha256(repr((self.name, self.labels)).encode() + (self.data or b"")).hexdigest()


def _given(source: str) -> Given | None:
    """The widgets of the texts; None while there are none."""
    if source == "wordnet":
        return Given(None, corpus.BUNDLED, (corpus.POS,))
    if source == "lines":
        typed = kept_file.typed_lines("atlas:lines", 120)
        data = typed.encode("utf-8", "replace")
        if len(data) > (most := limits.ATLAS_FILE.value):
            raise EncoderError(f"These lines have {len(data):,} bytes, and the limit is {most:,}.")
        return Given(data, "lines.txt") if typed.strip() else None
    upload = kept_file.upload(
        f"TXT with a text a line; {kept_file.formats('text')}", "atlas:file", _FILE,
        kept_file.ENDINGS, limits.ATLAS_FILE.value,
    )  # fmt: skip
    given = kept_file.read(_FILE, upload, make=lambda file: Given(file.getvalue(), file.name))
    if given is None:
        return None
    columns = st.text_input("Columns of labels, with commas between them (optional)", key="atlas:labels")
    return Given(given.data, given.name, tuple(one.strip() for one in columns.split(",") if one.strip()))


def _work(view: View, given: Given) -> long_work.Work[tuple[corpus.Atlas, Folder]]:
    """Build the atlas in a new folder."""
    folder = Folder(limits.ATLASES.value)
    source = corpus.Source(given.data or corpus.BUNDLED, None, given.labels, limits.ATLAS_TEXTS.value, given.name)
    n_layers, tokens = view.loaded.config.n_layers, limits.ATLAS_TOKENS.value
    settings = corpus.Settings(
        max_tokens=min(tokens, view.loaded.config.max_tokens) if tokens else None,
        vector_layers=tuple(sorted({(n_layers + 1) // 2, n_layers})), vector_texts=limits.ATLAS_VECTORS.value,
        block_texts=250,
    )  # fmt: skip
    for progress in corpus.iter_build(view.loaded, source, folder.path / "atlas", settings, seconds=3600.0):
        share = progress.done / max(1, progress.n_texts)
        yield share, f"Texts: {progress.done:,} of {progress.n_texts:,}"
    return corpus.open_atlas(folder.path / "atlas"), folder


def _of_session() -> None:
    """What the session has built: what was left out, a file of it, and its end."""
    atlas = atlases.built()
    if atlas is None:
        return
    st.markdown(
        f"Your atlas: **{atlas.n_texts:,}** texts of {plain(atlas.model_name)}, {atlas.n_tokens:,} tokens; "
        f"{atlas.left_out}; {atlas.n_cut:,} cut."
    )
    for problem in atlas.problems()[:5]:
        st.caption(plain(problem))
    with st.container(horizontal=True):
        if sum(file["bytes"] for file in atlas.manifest["files"].values()) <= limits.ATLAS_ZIP.value:
            st.download_button(
                "The atlas (ZIP)", lambda: _zipped(atlas), "atlas.zip", "application/zip", key="atlas:save",
                on_click="ignore", icon=":material/download:",
            )  # fmt: skip
        st.button("Delete it", key="atlas:delete", icon=":material/delete:", on_click=atlases.drop_built)


def _zipped(atlas: corpus.Atlas) -> bytes:
    """The folder in one file. Its tables are compressed already."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as file:
        for path in _files(atlas.folder):
            file.write(path, Path("atlas") / path.relative_to(atlas.folder))
    return content.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
