"""Diagnose: which fault gives exactly another program's vectors, and where in the pipeline it is."""

import hashlib
import json
from collections.abc import Callable, Hashable
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from encoder import EncoderError, diagnose
from encoder.checkpoints.bundled import BUNDLED
from encoder.diagnose.vector_files import FORMATS as VECTOR_FORMATS
from encoder.edits import format as edits_in_link
from encoder.figures import pipeline as drawn
from encoder.trace import gradual
from pages.base.access import limits, visitors
from pages.base.work import long_work
from pages.components import plot
from pages.core.frame.frame import heading, show
from pages.core.inputs import kept_file
from pages.core.inputs.edited import parse_recipe
from pages.core.stores import cache, model_access, model_store, results
from pages.core.view import View
from pages.core.widgets import Export, adjust
from pages.core.words import about, errors_said, opening, plain
from pages.diagnose.params import OF_A_VISITOR, SOURCES, TOGETHER, Params
from pages.state import links, state

#: Words of the verdict on the screen.
TITLES = {
    "fault": "Found",
    "sound": "Nothing is wrong",
    "within-precision": "Nothing is wrong but rounding",
    "not-repeatable": "Not repeatable",
    "unknown": "Unknown",
}
#: The stages with their names on the screen.
STAGES = {
    "text": "Text", "tokens": "Tokens", "embedding": "Embedding", "layers": "Layers", "pooling": "Pooling",
    "dense": "Dense", "vector": "Normalisation",
}  # fmt: skip
#: How a stage is marked, in Markdown.
MARKS = {
    "agrees": ":green-badge[:material/check: {}]",
    "differs": ":red-badge[:material/close: {} differs]",
    "not known": ":gray-badge[{}: not known]",
}


@dataclass(frozen=True, eq=False)
class Given:
    """Texts and the vectors of the other program."""

    texts: tuple[str, ...]
    vectors: np.ndarray

    @property
    def key(self) -> str:
        """Their digest."""
        return hashlib.sha256(json.dumps(self.texts).encode() + self.vectors.tobytes()).hexdigest()


@dataclass(frozen=True)
class Settings:
    """What is known of the other program; other: a model that it may use, "" for none."""

    precision: str
    batch: int | None
    other: str
    together: int


def main(view: View) -> None:
    """What the other program gave, the verdict, the pipeline, and the differences."""
    heading()
    opening("Which fault gives exactly the vectors of your other program?")
    given: Given | None = None
    settings: Settings | None = None
    prompt: str | None = None
    with adjust.drawer("diagnose"), errors_said():
        prompt, settings = prompt_of(view), choose_settings()
    words, picture = st.container(key="diagnose").columns([32, 68], gap="medium")
    picture = picture.container(key="diagnose-found")
    with words, errors_said():
        st.caption("Texts and the vectors that your program gives them; they stay in the memory of your session.")
        given = choose(view, prompt)
        found = None if given is None or settings is None else verdict(view, given, prompt, settings)
        if found is not None:
            with picture:
                draw(view, found)
    if given is None:
        with picture:
            draw_example(view)
    about.expander(__file__, "How the answer is found")


def first_texts(view: View) -> list[str]:
    """The texts to begin with: probes that each fit on a line."""
    return [text for text in diagnose.probes(view.loaded)[:8] if "\n" not in text and "\t" not in text]


def choose(view: View, prompt: str | None) -> Given | None:
    """The texts and the vectors; None while something is missing. Raises EncoderError."""
    typed = kept_file.typed_lines("diagnose:lines", 130, "\n".join(first_texts(view)))
    texts = tuple(line for line in typed.splitlines() if line.strip())
    if len(texts) > (most := limits.DIAGNOSE_TEXTS.value):
        raise EncoderError(f"{len(texts):,} texts, and the limit is {most:,}: send fewer.")
    offered = SOURCES if visitors.for_one_person() else {one: SOURCES[one] for one in OF_A_VISITOR}
    source = state.segmented(Params.source, "Vectors of", offered)
    vectors = (
        {"file": of_file, "pasted": of_pasted, "server": of_server, "onnx": of_onnx}[source](view, texts, prompt)
        if texts
        else None
    )
    return None if vectors is None else Given(texts, vectors)


def of_file(view: View, texts: tuple[str, ...], prompt: str | None) -> np.ndarray | None:
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


def of_pasted(view: View, texts: tuple[str, ...], prompt: str | None) -> np.ndarray | None:
    """Vectors that are pasted; None without any."""
    pasted = st.text_area(
        "Vectors as JSON", key="diagnose:json", height=130, placeholder='{"data": [{"index": 0, "embedding": [...]}]}'
    )
    return diagnose.read_vectors(pasted.encode("utf-8", "replace"), "pasted.json") if pasted.strip() else None


def of_server(view: View, texts: tuple[str, ...], prompt: str | None) -> np.ndarray | None:
    """Vectors of a server on one's own machine or network; None before it is asked."""
    address = state.bound(st.text_input, Params.address, "Its address", placeholder="http://localhost:8080")
    name = state.bound(
        st.text_input, Params.server_model, "Its name for the model", help="Empty where it has one model."
    )
    if not address.strip():
        return None
    server = diagnose.Endpoint(address.strip(), name.strip(), state.get(Params.batch))
    return asked((server, texts), lambda: server.embed(texts), "Ask the server", "It gets the texts above.")


def of_onnx(view: View, texts: tuple[str, ...], prompt: str | None) -> np.ndarray | None:
    """Vectors of an ONNX file on this machine; None before it runs."""
    path = state.bound(st.text_input, Params.onnx, "Its path", placeholder="onnx/model_quantized.onnx").strip()
    if not path:
        return None
    stamp = Path(path).stat().st_mtime_ns if Path(path).is_file() else 0
    return asked(
        (view.model, path, stamp, texts, prompt),
        lambda: diagnose.embed_by_onnx(view.loaded, path, texts, prompt=prompt),
        "Run the file",
        "It gets the model's own tokens.",
    )


def asked(what: Hashable, embed: Callable[[], np.ndarray], label: str, said: str) -> np.ndarray | None:
    """Another program's vectors, after a click."""

    def work() -> long_work.Work[np.ndarray]:
        yield 0.0, "Waiting for the vectors"
        return embed()

    return results.of_work("diagnose:asked", what, work, label=label, ask=said, own=True, most=3)


def prompt_of(view: View) -> str | None:
    """What the reference puts before each text; None: the model's own."""
    given = state.bound(
        st.text_input,
        Params.prompt,
        "Prompt of the reference",
        help="Empty: the model's own. A prompt's name in the model, or the prompt itself; - for none.",
        placeholder=view.loaded.prompt() or "none",
    )
    return {"": None, "-": ""}.get(given.strip(), view.loaded.prompts.get(given, given))


def choose_settings() -> Settings:
    """What is known of the other program, and how many faults together. Raises LoadError for another model."""
    precision = state.selectbox(Params.precision, "Its number type", list(Params.precision.options))
    batch = state.bound(
        st.number_input,
        Params.batch,
        "Texts in its batch",
        min_value=1,
        max_value=2_000,
        help="Empty: all texts together, and as is usual.",
    )
    other = state.bound(
        st.text_input, Params.other, "Another model that it may use", help=model_access.source_help()
    ).strip()
    together = state.segmented(Params.together, "Search", TOGETHER)
    source = other if not other or other in BUNDLED else model_access.allowed_source(other)
    return Settings(precision, batch, source, int(together))


def excluded() -> diagnose.Excluded:
    """What the last search of this session has excluded: after Cancel, the same search goes on."""
    found: diagnose.Excluded = st.session_state.setdefault("diagnose:excluded", diagnose.Excluded())
    return found


def verdict(view: View, given: Given, prompt: str | None, settings: Settings) -> diagnose.Verdict | None:
    """The answer, computed once in this session; None while it waits for a click."""
    what = (view.model, given.key, prompt, *astuple(settings))

    def work() -> long_work.Work[diagnose.Verdict]:
        others = []
        if settings.other:
            others.append(model_store.model(replace(view.model, source=settings.other, untrained=None)))
        steps = diagnose.find_gradually(
            view.loaded,
            given.texts,
            given.vectors,
            prompt=prompt,
            precision=settings.precision,
            batch=settings.batch,
            others=others,
            together=settings.together,
            kept=excluded(),
        )
        return gradual.reported(
            steps, lambda step: (step.done / max(step.total, 1), f"{step.said}: {step.done} of {step.total}")
        )

    return results.of_work("diagnose", what, work, label="Diagnose", ask="Every fault is run.", own=True, most=3)


# --- the answer -----------------------------------------------------------------------------------------------------


def draw_example(view: View) -> None:
    """What an answer looks like, before there are vectors: those of this model with a fault that is known."""
    texts = tuple(first_texts(view))
    try:
        found = cache.computed((view.model, "diagnose example", texts), lambda: diagnose.example(view.loaded, texts))
    except EncoderError:
        st.info("Paste the other program's vectors, or upload them.", icon=":material/difference:")
        return
    said = plain(found.faults[0].sentence.removeprefix("Your"))
    st.markdown(
        f"**Example.** Another{said} Its vectors differ from those of {plain(view.loaded.name)} by up to "
        f"**{found.difference_without:.2g}**."
    )
    pipeline(found)
    differences(found)


def draw(view: View, found: diagnose.Verdict) -> None:
    """The verdict in words, the pipeline, and the differences."""
    first, *rest = found.said.splitlines()
    st.markdown(f"**{TITLES[found.verdict]}.** {plain(first)}")
    for line in rest:
        st.markdown(plain(line))
    pipeline(found)
    picture_of_model(view, found)
    figures = differences(found)
    Export(
        view,
        f"Diagnosis of {view.loaded.name}",
        lambda: table(found),
        figures,
        lines="from encoder import diagnose\n\nfound = diagnose.find(model, texts, vectors)\nprint(found.said)",
        settings={"verdict": found.verdict, "faults": ", ".join(fault.name for fault in found.faults) or "none"},
    ).draw()
    st.download_button(
        "The answer (JSON)",
        found.as_json(),
        "diagnosis.json",
        "application/json",
        key="diagnose:save",
        on_click="ignore",
        icon=":material/download:",
    )


def pipeline(found: diagnose.Verdict) -> None:
    """The stages in a row, those that differ marked."""
    faulty = {fault.stage for fault in found.faults}
    usual = "agrees" if found.verdict != "unknown" and found.verdict != "not-repeatable" else "not known"
    marks = {title: MARKS["differs" if stage in faulty else usual] for stage, title in STAGES.items()}
    with st.container(key="diagnose-stages"):
        st.markdown(" → ".join(mark.format(title) for title, mark in marks.items()))


def picture_of_model(view: View, found: diagnose.Verdict) -> None:
    """A button that opens the model at the text that differs most, with the fault where it is an edit."""
    edits = [edit for fault in found.faults for edit in fault.edits(view.loaded)]
    if not found.faults:
        return
    label = "See the fault in the model" if edits else "See this stage in the model"
    prompt = "" if found.pipeline is None else found.pipeline.front.prompt
    values: dict[str, object] = {"text": prompt + found.texts[worst(found)]}
    if edits:
        values["edits"] = parse_recipe(edits_in_link(edits))
    links.button("model", label, "hub", "diagnose:model", values)


def worst(found: diagnose.Verdict) -> int:
    """The place of the text whose vector differs most."""
    sizes = found.distances(explained=False)
    return 0 if sizes is None else int(sizes.argmax())


def differences(found: diagnose.Verdict) -> dict[str, object]:
    """Draw the differences by text and by dimension; returns the figures."""
    without, explained = found.distances(explained=False), found.distances(explained=True)
    if without is None or explained is None:
        st.caption("The vectors have another width than the model's, so they have no differences to draw.")
        return {}
    texts = drawn.text_differences(found.texts, without, explained)
    plot(
        texts, key="diagnose:texts", height=240, alt="The largest difference of each text, without and with the fault."
    )
    names = {place: f"{place + 1}: {text[:60]}" for place, text in enumerate(found.texts)}
    most = "the one that differs most"
    chosen = state.selectbox(Params.text_of, "Vector of the text", {None: most, **names}, placeholder=most)
    place = worst(found) if chosen is None else chosen
    numbers = drawn.dimension_differences(found.by_dimension(place))
    plot(numbers, key="diagnose:numbers", height=220, alt="The differences of one vector, number by number.")
    return {"By text": texts, "By dimension": numbers}


def table(found: diagnose.Verdict) -> pd.DataFrame:
    """A row for each text."""
    return pd.DataFrame(
        {
            "text": found.texts,
            "difference_without": found.distances(explained=False),
            "difference": found.distances(explained=True),
        }
    )


show(main)
