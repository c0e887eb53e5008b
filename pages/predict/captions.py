"""The captions of the page: typed, one a line, or an example."""

from __future__ import annotations

import streamlit as st

import encoder
from encoder.inputs import spoken_digits
from encoder.inputs.captions import filled
from pages.core.inputs import image_input, unknown_words
from pages.core.words.markdown import plain
from pages.predict.params import TEN_DIGITS, CaptionParams
from pages.state.url_state import state

#: Captions that are compared, and the characters of one.
MOST, LONGEST = 20, 300
EXAMPLES = {
    "Ten digits": TEN_DIGITS,
    "Thick or thin": "a thick three\na thin three\na thick eight\na thin eight",
    "Even or odd": "an even digit\nan odd digit",
    "Words that it does not know": "a dog\na cat\na handwritten three",
}
OF_PHOTOS = {
    "Buildings and plants": "a photo of a temple\na photo of a flower\na photo of a tree\na photo of a bridge",
    "Photo or painting": "a photo of a flower\na painting of a flower\na flower\na temple",
}
OF_SOUNDS = {
    "Ten digits": "\n".join(filled(spoken_digits.TEMPLATES[6], word) for word in spoken_digits.WORDS),
    "Even or odd": "an even digit\nan odd digit",
    "Words that it does not know": "a dog barks\na cat\na voice says three",
}


def examples(model: encoder.JointEncoder) -> dict[str, str]:
    """Title -> captions that suit the model's images or sounds."""
    if model.other.takes == "sound":
        return OF_SOUNDS
    return EXAMPLES if image_input.takes_digits(model.image) else OF_PHOTOS


def given() -> tuple[str, ...]:
    """The captions, each once, at most MOST of LONGEST characters; a model needs one at least."""
    lines = (" ".join(line.split())[:LONGEST] for line in str(state.newest(CaptionParams.captions)).splitlines())
    return tuple(dict.fromkeys(filter(None, lines)))[:MOST] or ("",)


def fit(model: encoder.JointEncoder) -> None:
    """First captions that suit the model, in place of the first ones of another. Before they are read."""
    first = next(iter(examples(model).values()))
    firsts = {next(iter(some.values())) for some in (EXAMPLES, OF_PHOTOS, OF_SOUNDS)}
    if state.newest(CaptionParams.captions) in firsts - {first}:
        state.put(CaptionParams.captions, first)


def controls(model: encoder.JointEncoder) -> None:
    """The text area and the examples, and notes about what of them is used."""
    state.bound(
        st.text_area, CaptionParams.captions, "Captions, one a line", height=150,
        help=f"At most {MOST} captions of {LONGEST} characters. Ctrl+Enter runs them.", on_change=_forget,
    )  # fmt: skip
    offered = examples(model)
    st.selectbox(
        "Example captions", list(offered), index=None, key="caption-example", placeholder="… or choose examples",
        label_visibility="collapsed", on_change=_use_example, args=(offered,),
    )  # fmt: skip
    lines = [line for line in str(state.newest(CaptionParams.captions)).splitlines() if line.strip()]
    if len(set(lines)) > MOST or any(len(line) > LONGEST for line in lines):
        st.caption(f"Compared: the first {MOST} captions, each up to {LONGEST} characters.")
    if state.too_long_for_url(CaptionParams.captions):
        st.caption("The captions are too long for a link: a copied link opens without them.")


def note_unknown(model: encoder.JointEncoder, texts: tuple[str, ...]) -> None:
    """The words of the captions that the tokenizer does not know."""
    if said := unknown_words.of_sources([model.text.tokenize(text) for text in texts if text], model.text):
        st.info(plain(said), icon=":material/unknown_document:")


def _use_example(offered: dict[str, str]) -> None:
    chosen = st.session_state.get("caption-example")
    if chosen in offered:
        state.put(CaptionParams.captions, offered[chosen])
        _forget()


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
