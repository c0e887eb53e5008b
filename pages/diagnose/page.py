"""Diagnose: which fault gives exactly another program's vectors, and where in the pipeline it is."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from encoder import EncoderError, diagnose
from encoder.diagnose.vector_files import FORMATS as VECTOR_FORMATS
from encoder.edits import format as edits_in_link
from encoder.figures import pipeline as drawn
from encoder.trace import gradual
from pages.base.access import limits
from pages.base.work import long_work
from pages.components import plot
from pages.core.frame.frame import heading, show
from pages.core.inputs import kept_file
from pages.core.inputs.edited import parse_recipe
from pages.core.stores import cache, results
from pages.core.view import View
from pages.core.widgets import Export, adjust
from pages.core.words import about, errors_said, opening, plain
from pages.diagnose.params import TOGETHER, Params
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


def main(view: View) -> None:
    """What the other program gave, the verdict, the pipeline, and the differences."""
    heading()
    opening("Which fault gives exactly the vectors of your other program?")
    with adjust.drawer("diagnose"):
        settings = choose_settings()
    words, picture = st.container(key="diagnose").columns([32, 68], gap="medium")
    with words, errors_said():
        st.caption("Texts and the vectors that your program gives them; they stay in the memory of your session.")
        given = choose(view)
        if given is not None and (found := verdict(view, given, *settings)) is not None:
            with picture:
                draw(view, found)
    if given is None:
        with picture:
            draw_example(view)
    about.expander(__file__, "How the answer is found")


def first_texts(view: View) -> list[str]:
    """The texts to begin with: probes that each fit on a line."""
    return [text for text in diagnose.probes(view.loaded)[:8] if "\n" not in text and "\t" not in text]


def choose(view: View) -> Given | None:
    """The texts and the vectors; None while something is missing. Raises EncoderError."""
    typed = kept_file.typed_lines("diagnose:lines", 130, "\n".join(first_texts(view)))
    texts = tuple(line for line in typed.splitlines() if line.strip())
    pasted = st.text_area(
        "Vectors as JSON", key="diagnose:json", height=90, placeholder='{"data": [{"index": 0, "embedding": [...]}]}'
    )
    file = kept_file.upload(
        "Or a file of vectors",
        "diagnose:file",
        "diagnose:vectors",
        [one.removeprefix(".") for one in VECTOR_FORMATS],
        limits.DIAGNOSE_FILE.value,
    )
    if pasted.strip():
        vectors = diagnose.read_vectors(pasted.encode("utf-8", "replace"), "pasted.json")
    else:
        vectors = kept_file.read(
            "diagnose:vectors", file, make=lambda one: diagnose.read_vectors(one.getvalue(), one.name)
        )
    if vectors is None or not texts:
        return None
    if len(texts) > (most := limits.DIAGNOSE_TEXTS.value):
        raise EncoderError(f"{len(texts):,} texts, and the limit is {most:,}: send fewer.")
    return Given(texts, vectors)


def choose_settings() -> tuple[str, int | None, int]:
    """The number type and the batch of the other program, and how many faults together."""
    precision = state.selectbox(Params.precision, "Its number type", list(Params.precision.options))
    batch = state.bound(
        st.number_input,
        Params.batch,
        "Texts in its batch",
        min_value=1,
        max_value=2_000,
        help="Empty: all texts together, and as is usual.",
    )
    together = state.segmented(Params.together, "Search", TOGETHER)
    return precision, batch, int(together)


def verdict(view: View, given: Given, precision: str, batch: int | None, together: int) -> diagnose.Verdict | None:
    """The answer, computed once in this session; None while it waits for a click."""
    what = (view.model, given.key, precision, batch, together)

    def work() -> long_work.Work[diagnose.Verdict]:
        steps = diagnose.find_gradually(
            view.loaded, given.texts, given.vectors, precision=precision, batch=batch, together=together
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
    values: dict[str, object] = {"text": view.loaded.prompt() + found.texts[worst(found)]}
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
    chosen = state.selectbox(Params.text_of, "Vector of the text", {None: "the one that differs most", **names})
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
