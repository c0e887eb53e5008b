"""What a visitor gives the page: texts, images or sounds, and the vectors that another program gives them."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import streamlit as st

from encoder import EncoderError, diagnose
from encoder.diagnose.vector_files import FORMATS as VECTOR_FORMATS
from pages.base.access import limits, visitors
from pages.base.work import long_work
from pages.core.inputs import kept_file
from pages.core.stores import input_kinds, results
from pages.core.view import View
from pages.diagnose.params import NEEDS_TEXTS, OF_A_VISITOR, SOURCES, Params
from pages.state import state

#: Texts, or files by their names.
Inputs = tuple[str, ...] | Mapping[str, bytes]
#: The field of the texts.
LINES = "diagnose:lines"
#: Of the probes, the one that takes long to prepare.
LARGE = "probe-large.png"


@dataclass(frozen=True, eq=False)
class Given:
    """Inputs and the vectors of the other program."""

    inputs: Inputs
    vectors: np.ndarray

    @property
    def key(self) -> str:
        """Their digest."""
        return hashlib.sha256(digest(self.inputs).encode() + self.vectors.tobytes()).hexdigest()


def digest(inputs: Inputs) -> str:
    """A name of the inputs, whatever their size."""
    if not isinstance(inputs, Mapping):
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
    return json.dumps({name: hashlib.sha256(one).hexdigest() for name, one in inputs.items()})


def choose(view: View, prompt: str | None) -> Given | None:
    """The inputs and the vectors; None while something is missing. Raises EncoderError."""
    of_texts = view.loaded.takes == "text"
    inputs = typed_texts(view) if of_texts else files(view)
    own = visitors.for_one_person()
    offered = {
        one: title
        for one, title in SOURCES.items()
        if (own or one in OF_A_VISITOR) and (of_texts or one not in NEEDS_TEXTS)
    }
    source = state.segmented(Params.source, "Vectors of", offered)
    read = {"file": of_file, "pasted": of_pasted, "server": of_server, "onnx": of_onnx}[source]
    vectors = read(view, inputs, prompt) if inputs else None
    return None if vectors is None else Given(inputs, vectors)


# --- inputs -----------------------------------------------------------------------------------------------------------


def example_inputs(view: View) -> Inputs:
    """The inputs to begin with: texts that each fit on a line, or probes of which none takes long."""
    if view.loaded.takes == "text":
        return tuple(text for text in diagnose.probes(view.loaded)[:8] if "\n" not in text and "\t" not in text)
    return {name: one for name, one in diagnose.probe_files(view.loaded.takes).items() if name != LARGE}


#: Texts that the Python lines name; more are read from a file.
WRITTEN = 30


def code(inputs: Inputs) -> str:
    """Python that makes the name `texts`."""
    if not isinstance(inputs, Mapping):
        if len(inputs) > WRITTEN:
            return "texts = Path('texts.txt').read_text().splitlines()"
        return "texts = [\n" + "".join(f"    {text!r},\n" for text in inputs) + "]"
    probes = [(kind, diagnose.probe_files(kind)) for kind in ("image", "sound")]
    for kind, files in probes:
        if set(inputs) == set(files) - {LARGE}:
            return f"texts = diagnose.probe_files({kind!r})\ntexts.pop({LARGE!r}, None)"
        if set(inputs) == set(files):
            return f"texts = diagnose.probe_files({kind!r})"
    return "texts = sorted(Path('inputs').iterdir())"


def typed_texts(view: View) -> tuple[str, ...]:
    """The texts, at first probes."""
    typed = kept_file.typed_lines(LINES, 130, "\n".join(example_inputs(view)))
    texts = tuple(line for line in typed.splitlines() if line.strip())
    if len(texts) > (most := limits.DIAGNOSE_TEXTS.value):
        raise EncoderError(f"{len(texts):,} texts, and the limit is {most:,}: send fewer.")
    return texts


def files(view: View) -> Mapping[str, bytes]:
    """The visitor's images or sounds in the order of their names; without any the probes."""
    kind, key = view.loaded.takes, f"diagnose:{view.loaded.takes}s"
    source = input_kinds.SOURCES[kind]
    given = kept_file.upload_many(
        f"Your own {kind}s, in place of the probes",
        f"{key}:upload",
        key,
        source.endings(),  # type: ignore[attr-defined]
        source.most_bytes,  # type: ignore[attr-defined]
        limits.DIAGNOSE_FILES.value,
    )
    own: Mapping[str, bytes] | None = kept_file.read(
        key, *(given or (None,)), make=lambda *some: {one.name: one.getvalue() for one in some}
    )
    if own is not None:
        return own
    probes = diagnose.probe_files(kind)
    st.download_button(
        f"Probes: {len(probes)} {kind}s (.zip)",
        packed(kind),
        f"probes-{kind}s.zip",
        "application/zip",
        key=f"{key}:probes",
        on_click="ignore",
        icon=":material/download:",
        help="Give them to your program, one vector each, in the order of their names.",
    )
    return probes


@cache
def packed(kind: str) -> bytes:
    """The probes in a zip file, which does not compress them again."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, one in diagnose.probe_files(kind).items():  # type: ignore[arg-type]
            archive.writestr(zipfile.ZipInfo(name), one)
    return out.getvalue()


# --- vectors ----------------------------------------------------------------------------------------------------------


def of_file(view: View, inputs: Inputs, prompt: str | None) -> np.ndarray | None:
    """Vectors of an uploaded file; None without one."""
    file = kept_file.upload(
        "A file of vectors",
        "diagnose:file",
        "diagnose:vectors",
        [one.removeprefix(".") for one in VECTOR_FORMATS],
        limits.DIAGNOSE_FILE.value,
    )
    found: np.ndarray | None = kept_file.read(
        "diagnose:vectors", file, make=lambda one: diagnose.read_vectors(one.getvalue(), one.name)
    )
    return found


def of_pasted(view: View, inputs: Inputs, prompt: str | None) -> np.ndarray | None:
    """Vectors that are pasted; None without any."""
    pasted = kept_file.typed_lines(
        "diagnose:json", 130, label="Vectors as JSON", placeholder='{"data": [{"index": 0, "embedding": [...]}]}'
    )
    return diagnose.read_pasted(pasted) if pasted.strip() else None


def of_server(view: View, inputs: Inputs, prompt: str | None) -> np.ndarray | None:
    """Vectors of a server on one's own machine or network; None before it is asked."""
    address = state.bound(st.text_input, Params.address, "Its address", placeholder="http://localhost:8080")
    name = state.bound(
        st.text_input, Params.server_model, "Its name for the model", help="Empty where it has one model."
    )
    if not address.strip():
        return None
    server = diagnose.Endpoint(address.strip(), name.strip(), state.get(Params.batch))

    def embed() -> np.ndarray:
        return server.embed_files(inputs, view.loaded.takes) if isinstance(inputs, Mapping) else server.embed(inputs)

    return asked((server, digest(inputs)), embed, "Ask the server", f"It gets the {view.loaded.takes}s above.")


def of_onnx(view: View, inputs: Inputs, prompt: str | None) -> np.ndarray | None:
    """Vectors of an ONNX file on this machine; None before it runs."""
    path = state.bound(st.text_input, Params.onnx, "Its path", placeholder="onnx/model_quantized.onnx").strip()
    if not path or isinstance(inputs, Mapping):
        return None
    stamp = Path(path).stat().st_mtime_ns if Path(path).is_file() else 0
    return asked(
        (view.model, path, stamp, inputs, prompt),
        lambda: diagnose.embed_by_onnx(view.loaded, path, inputs, prompt=prompt),
        "Run the file",
        "It gets the model's own tokens.",
    )


def asked(what: Hashable, embed: Callable[[], np.ndarray], label: str, said: str) -> np.ndarray | None:
    """Another program's vectors, after a click."""

    def work() -> long_work.Work[np.ndarray]:
        yield 0.0, "Waiting for the vectors"
        return embed()

    return results.of_work("diagnose:asked", what, work, label=label, ask=said, own=True, most=3)
