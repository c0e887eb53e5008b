"""The captions of the page: typed, one a line, or an example."""

import streamlit as st

import encoder
from pages.core.inputs import image_input, unknown_words
from pages.core.widgets import examples
from pages.core.words import plain
from pages.predict.params import CaptionParams
from pages.state import state

#: Captions that are compared, and the characters of one.
MOST, LONGEST = 20, 300


def _group(model: encoder.JointEncoder) -> str:
    """The examples that suit the model's images, pages or sounds."""
    if model.compares == "MaxSim":
        return "pages"
    if model.other.takes == "sound":
        return "sounds"
    return "digits" if image_input.takes_digits(model.image) else "photos"


def _first(group: str) -> object:
    """The first captions of a group."""
    return next(iter(examples.read(__file__, group).values()))["captions"] or CaptionParams.captions.default


def given() -> tuple[str, ...]:
    """The captions, each once, at most MOST of LONGEST characters; a model needs one at least."""
    lines = (" ".join(line.split())[:LONGEST] for line in str(state.newest(CaptionParams.captions)).splitlines())
    return tuple(dict.fromkeys(filter(None, lines)))[:MOST] or ("",)


def fit(model: encoder.JointEncoder) -> None:
    """First captions that suit the model, in place of the first ones of another. Before they are read."""
    first = _first(_group(model))
    firsts = {_first(group) for group in ("digits", "photos", "pages", "sounds")}
    if state.newest(CaptionParams.captions) in firsts - {first}:
        state.put(CaptionParams.captions, str(first))


def controls(model: encoder.JointEncoder) -> None:
    """The text area and the examples, and notes about what of them is used."""
    what = "queries" if model.compares == "MaxSim" else "captions"
    state.bound(
        st.text_area,
        CaptionParams.captions,
        f"{what.capitalize()}, one a line",
        height=150,
        help=f"At most {MOST} {what} of {LONGEST} characters. Ctrl+Enter runs them.",
        on_change=_forget,
    )
    examples.draw(__file__, _group(model), "caption-example", then=_forget, placeholder="… or choose examples")
    lines = [line for line in str(state.newest(CaptionParams.captions)).splitlines() if line.strip()]
    if len(set(lines)) > MOST or any(len(line) > LONGEST for line in lines):
        st.caption(f"Compared: the first {MOST} {what}, each up to {LONGEST} characters.")
    if state.too_long_for_url(CaptionParams.captions):
        st.caption(f"The {what} are too long for a link: a copied link opens without them.")


def note_unknown(model: encoder.JointEncoder, texts: tuple[str, ...]) -> None:
    """The words of the captions that the tokenizer does not know."""
    if said := unknown_words.of_sources([model.text.tokenize(text) for text in texts if text], model.text):
        st.info(plain(said), icon=":material/unknown_document:")


def _forget() -> None:
    select(None)


def select(place: int | None) -> None:
    """Select a caption; None: the one that fits best. For callbacks."""
    state.put(CaptionParams.caption, place)
    state.put(CaptionParams.word, None)


def open_text(text: str) -> None:
    """Select a caption that may not be in the list: it is added at the end. For callbacks."""
    texts = given()
    if text not in texts:
        texts = (*texts[: MOST - 1], text)
        state.put(CaptionParams.captions, "\n".join(texts))
    select(texts.index(text))
