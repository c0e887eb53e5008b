"""Diagnose: which fault gives exactly another program's vectors, and where in the pipeline it is."""

import shlex
from collections.abc import Hashable, Mapping
from dataclasses import astuple, dataclass, replace

import pandas as pd
import streamlit as st

from encoder import EncoderError, diagnose
from encoder.checkpoints.bundled import BUNDLED
from encoder.diagnose import comparing
from encoder.edits import format as edits_in_link
from encoder.figures import pipeline as drawn
from encoder.measure import ranking
from encoder.trace import gradual
from pages.base.access import limits
from pages.base.work import long_work
from pages.components import PlotEvent, on_click, plot
from pages.components.lazy import expander
from pages.core.frame.frame import heading, show
from pages.core.inputs.edited import parse_recipe
from pages.core.stores import cache, input_kinds, model_access, model_store, results
from pages.core.view import View
from pages.core.widgets import Export, adjust, answer
from pages.core.words import about, errors_said, gestures, opening, plain
from pages.diagnose import given as inputs
from pages.diagnose import unknown
from pages.diagnose.given import Given
from pages.diagnose.params import TOGETHER, Params
from pages.state import links, state

#: The stages with their names on the screen.
STAGES = {
    "text": "Text", "tokens": "Tokens", "embedding": "Embedding", "layers": "Layers", "pooling": "Pooling",
    "dense": "Dense", "vector": "Vector",
}  # fmt: skip
#: Those of images and sounds.
OF_FILES = {name: title for name, title in STAGES.items() if name != "text"} | {"tokens": "Preparation"}
#: How a stage is marked, in Markdown: a frame would look like a button.
MARKS = {
    "agrees": ":green[:material/check: {}]",
    "differs": ":red[:material/close: **{} differs**]",
    "not known": ":gray[{}: not known]",
}


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
        prompt = prompt_of(view) if view.loaded.takes == "text" else None
        settings = choose_settings(view)
    words, picture = st.container(key="diagnose").columns([32, 68], gap="medium")
    picture = picture.container(key="diagnose-found")
    with words, errors_said():
        st.caption(
            f"{view.loaded.takes.capitalize()}s and the vectors that your program gives them; they stay in the memory "
            "of your session."
        )
        given = inputs.choose(view, prompt)
        found = None if given is None or settings is None else verdict(view, given, prompt, settings)
        if given is not None and settings is not None and found is not None:
            with picture:
                draw(view, given, found, settings, prompt)
    if given is None:
        with picture:
            draw_example(view)
    about.expander(__file__, "How the answer is found")
    links.next_page("model", "What does the model do at each step?")


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


def choose_settings(view: View) -> Settings:
    """What is known of the other program, and how many faults together. Raises LoadError for another model."""
    precision = state.selectbox(Params.precision, "Its number type", list(Params.precision.options))
    batch = None
    if view.loaded.takes == "text":
        batch = state.bound(
            st.number_input,
            Params.batch,
            "Texts in its batch",
            min_value=1,
            max_value=2_000,
            help="Empty: usual sizes are tried. A fault of padding is excluded only for a size that is known.",
        )
    other = state.bound(
        st.text_input, Params.other, "Another model that it may use", help=model_access.source_help()
    ).strip()
    together = state.segmented(Params.together, "Search", TOGETHER)
    source = other if not other or other in BUNDLED else model_access.allowed_source(other)
    return Settings(precision, batch, source, int(together))


def excluded(what: Hashable) -> diagnose.Excluded:
    """What a search of this session has excluded, of the last one: after Cancel it goes on."""
    kept = st.session_state.get("diagnose:excluded")
    if kept is None or kept[0] != what:
        kept = st.session_state["diagnose:excluded"] = (what, diagnose.Excluded())
    found: diagnose.Excluded = kept[1]
    return found


def verdict(view: View, given: Given, prompt: str | None, settings: Settings) -> diagnose.Verdict | None:
    """The answer, computed once in this session; None while it waits for a click. Raises EncoderError."""
    comparing.check(given.vectors, len(given.inputs))  # before a click that would wait for nothing
    what = (view.model, given.key, prompt, *astuple(settings))
    known = excluded(what[:-1])  # whatever number of faults together

    def work() -> long_work.Work[diagnose.Verdict]:
        others = []
        if settings.other:
            others.append(model_store.model(replace(view.model, source=settings.other, untrained=None)))
        steps = diagnose.find_gradually(
            view.loaded,
            given.inputs,
            given.vectors,
            prompt=prompt,
            precision=settings.precision,
            batch=settings.batch,
            others=others,
            together=settings.together,
            kept=known,
            most_numbers=limits.DIAGNOSE_NUMBERS.value,
        )
        return gradual.reported(steps, lambda step: (step.done / max(step.total, 1), step.words))

    label, ask = "Diagnose", "Every fault is run."
    begins = st.session_state.pop(unknown.BEGIN, False)
    if len(known):
        label, ask = "Go on", f"Excluded so far: {len(known):,}; they are not run again."
    return results.of_work("diagnose", what, work, label=label, ask="" if begins else ask, own=True, most=3)


# --- the answer -----------------------------------------------------------------------------------------------------


def draw_example(view: View) -> None:
    """What an answer looks like, before there are vectors: those of this model with a fault that is known."""
    given = inputs.example_inputs(view)
    try:
        found = cache.computed(
            (view.model, "diagnose example", inputs.digest(given)), lambda: diagnose.example(view.loaded, given)
        )
    except EncoderError:
        st.info("Paste the other program's vectors, or upload them.", icon=":material/difference:")
        return
    said = plain(found.faults[0].sentence.removeprefix("Your"))
    st.markdown(f"**Example.** Another{said} Largest difference: **{found.difference_without:.2g}**.")
    pipeline(view, found)
    figures = differences(view, found, folded=True)
    lines = f"{inputs.code(given)}\nfound = diagnose.example(model, texts)"
    lines += "  # of your own vectors: diagnose.find(model, texts, vectors)"
    export(view, f"Example of a diagnosis of {view.loaded.name}", found, figures, lines)


def draw(view: View, given: Given, found: diagnose.Verdict, settings: Settings, prompt: str | None) -> None:
    """The verdict in words, the pipeline, and the differences."""
    first, *rest = found.said.splitlines()
    title, _, evidence = ("Found", ":", first) if found.faults else first.partition(":")
    st.markdown(f"**{plain(title)}:** {plain(evidence.strip())}")
    if found.verdict == "unknown":
        unknown.draw(view, found)
    else:
        for line in rest:
            st.markdown(plain(line))
        pipeline(view, found)
    picture_of_model(view, given, found)
    figures = differences(view, found)
    lines, line = python_lines(given, settings, prompt), command_line(view, settings, prompt)
    export(view, f"Diagnosis of {view.loaded.name}", found, figures, lines, line)
    st.download_button(
        "The answer (JSON)",
        found.as_json(),
        "diagnosis.json",
        "application/json",
        key="diagnose:save",
        on_click="ignore",
        icon=":material/download:",
    )


def export(
    view: View, title: str, found: diagnose.Verdict, figures: dict[str, object], lines: str, line: str = ""
) -> None:
    """The numbers, the figures, the Python lines that make `found`, and the command, where there is one."""
    Export(
        view,
        title,
        lambda: table(found),
        figures,
        lines=f"from encoder import diagnose\n\n{lines}\nprint(found.said)\n"
        "found.distances(explained=False), found.distances(explained=True)",
        is_traced=False,
        line=line,
        settings={"verdict": found.verdict, "faults": ", ".join(fault.name for fault in found.faults) or "none"},
    ).draw()


def pipeline(view: View, found: diagnose.Verdict) -> None:
    """The stages in a row, those that differ marked."""
    stages = STAGES if view.loaded.takes == "text" else OF_FILES
    faulty = {fault.stage for fault in found.faults}
    usual = "agrees" if found.verdict != "unknown" and found.verdict != "not-repeatable" else "not known"
    marks = {title: MARKS["differs" if stage in faulty else usual] for stage, title in stages.items()}
    with st.container(key="diagnose-stages"):
        st.markdown(" → ".join(mark.format(title) for title, mark in marks.items()))


def picture_of_model(view: View, given: Given, found: diagnose.Verdict) -> None:
    """A button that opens the model at the input that differs most and at the faulty stage, with the fault where it is
    an edit."""
    if not found.faults:
        return
    edits = [edit for fault in found.faults for edit in fault.edits(view.loaded)]
    label = "See the fault in the model" if edits else "See this stage in the model"

    def values() -> dict[str, object]:
        name, first = found.texts[worst(found)], found.faults[0]
        opened: dict[str, object] = {"step": first.shown_at}
        if isinstance(given.inputs, Mapping):
            kind, content = view.loaded.takes, given.inputs[name]
            source = input_kinds.SOURCES[kind]
            kept = source.read(view.loaded, content, name, name)  # type: ignore[attr-defined]
            opened = {kind: kept, "tower": kind, "step": "" if first.stage == "tokens" else first.shown_at}
        else:
            opened["text"] = found.prompt + name
        return opened | ({"edits": parse_recipe(edits_in_link(edits))} if edits else {})

    links.button("model", label, "hub", "diagnose:model", values)


def worst(found: diagnose.Verdict) -> int:
    """The place of the text whose vector differs most."""
    sizes = found.distances(explained=False)
    return 0 if sizes is None else int(sizes.argmax())


def differences(view: View, found: diagnose.Verdict, *, folded: bool = False) -> dict[str, object]:
    """Draw the differences by input and by dimension; returns the figures. folded: whether the second one waits for a
    click, so that what comes after it is near."""
    without = found.distances(explained=False)
    explained = found.distances(explained=True) if found.faults else None
    if without is None or (found.faults and explained is None):
        st.caption("The vectors have another width than the model's, so they have no differences to draw.")
        return {}
    takes, chosen = view.loaded.takes, chosen_of(found)
    inputs = drawn.text_differences(found.texts, without, explained, takes, chosen)
    alt = f"The largest difference of each {takes}{', without and with the fault' if found.faults else ''}."
    with answer.area():
        if chosen is not None:
            st.markdown(difference_in_words(found, chosen))
        plot(inputs, key="diagnose:texts", height=240, alt=alt, on_event=on_click(point=select, clear=clear))
    gestures.caption(gestures.invitation(f"{gestures.CLICK} a bar for the components of its {takes}."))
    numbers, is_folded = None, folded and chosen is None
    part = expander(f"One {takes}, component by component", "diagnose-one") if is_folded else st.container()
    if part is not None:
        with part:
            numbers = of_one(view, found)
    return {f"By {takes}": inputs} | ({} if numbers is None else {"By dimension": numbers})


def select(event: PlotEvent) -> None:
    """A click on a bar, or on its point, shows its input component by component. For callbacks."""
    state.put(Params.text_of, event["point"])


def clear() -> None:
    """Show the input that differs most again. For callbacks."""
    state.put(Params.text_of, None)


def chosen_of(found: diagnose.Verdict) -> int | None:
    """The place of the input that a reader selected; None without one."""
    chosen = state.newest(Params.text_of)
    return chosen if chosen is not None and chosen < len(found.texts) else None


def difference_in_words(found: diagnose.Verdict, place: int) -> str:
    """The largest difference of one input, its rank, and what is left of it with the fault."""
    without = found.distances(explained=False)
    assert without is not None, "they are drawn"
    nth = answer.nth_largest(*ranking.rank(without, place)).removeprefix("the ")
    said = f"{place + 1}, “{plain(found.texts[place][:60])}”: largest difference **{without[place]:.2g}**"
    explained = found.distances(explained=True) if found.faults else None
    left = "" if explained is None else f"; with the fault **{explained[place]:.2g}**"
    return f"{found.takes.capitalize()} {said}, the {nth}{left}."


def of_one(view: View, found: diagnose.Verdict) -> object:
    """Choose an input, and draw the differences of its vector; returns the figure."""
    names = {place: f"{place + 1}: {text[:60]}" for place, text in enumerate(found.texts)}
    most, label = "the one that differs most", f"Vector of the {view.loaded.takes}"
    chosen = state.selectbox(Params.text_of, label, {None: most, **names}, placeholder=most)
    numbers = drawn.dimension_differences(found.by_dimension(worst(found) if chosen is None else chosen))
    plot(numbers, key="diagnose:numbers", height=220, alt="The differences of one vector, component by component.")
    return numbers


def python_lines(given: Given, settings: Settings, prompt: str | None) -> str:
    """What finds the same in Python, from a file of the vectors."""
    known = {"prompt": prompt, "precision": settings.precision, "batch": settings.batch, "together": settings.together}
    known["others"] = [typed] if (typed := state.get(Params.other).strip()) else None
    usual = {"precision": "float32"}
    more = "".join(f", {name}={value!r}" for name, value in known.items() if value not in (None, usual.get(name)))
    return (
        f"from pathlib import Path\n\n{inputs.code(given.inputs)}\n"
        "vectors = diagnose.read_vectors(Path('vectors.npy').read_bytes(), 'vectors.npy')\n"
        f"found = diagnose.find(model, texts, vectors{more})"
    )


def command_line(view: View, settings: Settings, prompt: str | None) -> str:
    """The command that finds the same, from files of the inputs and of the vectors."""
    inputs_of = ["--texts", "texts.txt"] if view.loaded.takes == "text" else ["--media", "inputs"]
    known = {"--precision": settings.precision, "--batch": settings.batch, "--prompt": prompt}
    known |= {"--other": state.get(Params.other).strip(), "--together": settings.together}
    more = [word for name, value in known.items() if value not in (None, "", "float32") for word in (name, str(value))]
    words = ["encoderscope", "diagnose", view.model.source, *inputs_of, "--vectors", "vectors.npy", *more]
    return shlex.join(words)


def table(found: diagnose.Verdict) -> pd.DataFrame:
    """A row for each input."""
    return pd.DataFrame(
        {
            found.takes: found.texts,
            "difference_without": found.distances(explained=False),
            "difference": found.distances(explained=True),
        }
    )


show(main)
