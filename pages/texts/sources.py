"""The texts to search: typed lines, a file, or a saved collection. They stay in this session's memory."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from encoder import EncoderError, TextEncoder, probe, search
from encoder.probe.tasks import LABEL_COLUMNS
from encoder.search import Collection, Limits
from encoder.trace import gradual
from pages.base.access import limits
from pages.base.work import long_work
from pages.components.lazy import expander
from pages.core.inputs import kept_file
from pages.core.stores import results
from pages.core.view import View
from pages.core.words import about
from pages.state import state
from pages.texts.params import SOURCES, Params

#: Numbers of a vector that a file of vectors has room for, and bytes of its header.
WIDTH, HEADER = 800, 1_000_000


def vector_bytes() -> int:
    """The limit of a file of vectors."""
    return min(limits.SEARCH_TEXTS.value * WIDTH * 4 + HEADER, st.get_option("server.maxUploadSize") * 10**6)


#: Up to so many texts are embedded without being asked.
AT_ONCE = 1_000

#: Lines to begin with.
EXAMPLE = Path(__file__).with_name("lines.txt").read_text(encoding="utf-8").strip()


@dataclass(frozen=True)
class Given:
    """Texts, the sentences about what was left out, and its number. is_bundled: they are the same for every visitor;
    labels: one for each text, where the file has a column of them."""

    texts: tuple[str, ...]
    problems: tuple[str, ...] = ()
    n_left_out: int = 0
    is_bundled: bool = False
    labels: tuple[str, ...] = ()


def choose() -> Given | Collection | None:
    """The widgets of the source, and what they give; None while a file is missing. Raises EncoderError."""
    source = state.selectbox(Params.source, "Texts to search", SOURCES)
    if source == "lines":
        typed = kept_file.typed_lines("search:lines", 110, EXAMPLE)
        if typed.strip() == EXAMPLE:
            return Given(tuple(EXAMPLE.splitlines()), is_bundled=True)
        return read(typed.encode("utf-8", "replace"), "lines.txt")
    if source == "wordnet":
        st.caption("Example sentences of WordNet 3.0, Princeton University.")
        return Given(probe.examples(), is_bundled=True)
    if source == "file":
        given = kept_file.upload(
            f"TXT with a text a line; {kept_file.formats('text')}, and label if you have it",
            "search:file",
            "search:texts-of-file",
            kept_file.ENDINGS,
            limits.SEARCH_FILE.value,
        )
        return kept_file.read("search:texts-of-file", given, make=lambda file: read(file.getvalue(), file.name))
    texts = kept_file.upload("Its texts", "search:texts", "search:saved", ["parquet"], limits.SEARCH_FILE.value)
    vectors = kept_file.upload("Its vectors", "search:vectors", "search:saved", ["safetensors"], vector_bytes())
    return kept_file.read("search:saved", texts, vectors, make=_saved)


def _saved(texts: UploadedFile, vectors: UploadedFile) -> Collection:
    found = search.from_files(texts.getvalue(), vectors.getvalue())
    if len(found) > (most := limits.SEARCH_TEXTS.value):
        raise EncoderError(f"This collection has {len(found):,} texts, and the limit is {most:,}: split it.")
    return found


def read(data: bytes, name: str) -> Given:
    """The texts of a file within the limits of the server, with the labels of a table. Raises EncoderError."""
    most = Limits(limits.SEARCH_FILE.value, limits.SEARCH_TEXTS.value, limits.SEARCH_CHARACTERS.value)
    found = search.read_texts(data, name, most, labels=LABEL_COLUMNS)
    return Given(found.texts, found.problems, found.n_left_out, labels=found.labels)


def collection(view: View, given: Given | Collection) -> Collection | None:
    """The texts with their vectors, kept in this session only; None while the work waits for a click."""
    if isinstance(given, Collection):
        if given.model != view.loaded.name:
            raise EncoderError(f"{given.model} made these vectors: choose it above, or embed the texts again.")
        return given
    return embedded(view, view.loaded, given)


def embedded(view: View, model: TextEncoder, given: Given, kind: str = "search") -> Collection | None:
    """As `collection`, by a text encoder of the view's model. kind: see `results.of_work`."""
    what = (kind, view.model, hashlib.sha256("\0".join(given.texts).encode()).hexdigest())
    n_texts = len(given.texts)

    def work() -> long_work.Work[Collection]:
        parts = search.embed_gradually(model, given.texts)
        return gradual.reported(parts, lambda done: (done / n_texts, f"Texts embedded: {done:,} of {n_texts:,}"))

    ask = "" if n_texts <= AT_ONCE else f"{n_texts:,} texts: {model.name} processes each of them once."
    return results.of_work(kind, what, work, label="Embed the texts", ask=ask, own=not given.is_bundled, most=1)


def say_limits() -> None:
    """The limits of this page."""
    part = expander("Limits, and where the texts are kept", "search-limits")
    if part is None:
        return
    most = {
        "texts": limits.SEARCH_TEXTS.value,
        "characters": limits.SEARCH_CHARACTERS.value,
        "file": limits.SEARCH_FILE.value,
        "vectors": vector_bytes(),
    }
    values = {name: f"{value:,}" for name, value in most.items()}
    part.markdown(about.text(__file__, "Where the texts are kept", **values))
