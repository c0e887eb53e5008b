"""Fill the blank: which words a model expects where [MASK] stands, both twins side by side."""

from __future__ import annotations

import streamlit as st

import encoder
from encoder.errors import EncoderError
from encoder.figures.placements import PLACEMENT_NAMES
from encoder.figures.words import word_bars
from pages.core import cache, norm_pair, sidebar
from pages.core.frame import current_view, heading
from pages.core.view import state
from pages.masked_words import blanks
from pages.masked_words.export import export_guesses
from pages.masked_words.params import LEAST_WORDS, MOST_WORDS

view = current_view()
model = view.loaded
#: More words than these are offered as a list rather than as buttons; more blanks than these are not drawn.
MOST_PILLS, MOST_BLANKS = 40, 8


def main() -> None:
    heading()
    if model.mlm_head is None:
        no_head()
        return
    mask = model.tokenizer.mask_token or "[MASK]"
    st.markdown(
        f"Where **{sidebar.plain(mask)}** stands, the model says which word it expects: its masked-word head "
        "turns the "
        "output there into a probability for every entry of the vocabulary. This is what it was trained to do, "
        "with 15 % "
        "of the words hidden."
    )
    choose_word(mask)
    try:
        sides = compared()
        found = {name: blanks.guesses(key, view.text, view.pair, state.get("top")) for name, (key, _) in sides.items()}
    except EncoderError as error:
        st.info(str(error), icon=":material/edit:")
        return
    show(sides, found)
    export_guesses(view, state.get("top"))


def no_head() -> None:
    """Why there is nothing to see, and what to do."""
    if state.get("model") == "scratch":
        why = "it was never trained to name words"
    elif state.get("model") == "trained":
        why = "it was trained on another task"
    else:
        why = "it was trained to give one vector for a sentence, or the head was not saved with it"
    st.info(
        f"{model.name} has no masked-word head: {why}, so it cannot say which word is hidden. "
        "The twins were trained to fill blanks.",
        icon=":material/block:",
    )
    st.button(
        "Use the twins", type="primary", icon=":material/compare:", on_click=state.put, args=("model", "twin-pre")
    )


def choose_word(mask: str) -> None:
    """Hide a word by a click; put it back."""
    offered = blanks.words(view.trace, mask)
    hidden = state.get("hidden") if mask in view.text else ""
    if offered:
        names = dict(enumerate(offered))
        options = {"format_func": lambda place: names[place].text, "key": f"hide:{view.text}", "on_change": hide}
        if len(offered) <= MOST_PILLS:
            st.pills("Hide a word", list(names), args=(f"hide:{view.text}", mask), **options)
        else:
            st.selectbox("Hide a word", list(names), index=None, args=(f"hide:{view.text}", mask), **options)
    if hidden:
        st.button(f"Put “{hidden}” back", icon=":material/undo:", on_click=put_back, args=(mask,))


def hide(key: str, mask: str) -> None:
    """The chosen word goes behind the mask, and the one that was hidden before comes back."""
    place = st.session_state.get(key)
    if place is None:
        return
    word = blanks.words(view.trace, mask)[place]
    text, before = blanks.hide(view.text, word, "\0"), state.get("hidden")
    if before and mask in text:
        text = text.replace(mask, before, 1)
    state.put("text", text.replace("\0", mask))
    state.put("hidden", word.text)
    sidebar.select(None, None)


def put_back(mask: str) -> None:
    state.put("text", view.text.replace(mask, state.get("hidden"), 1))
    state.put("hidden", "")


def compared() -> dict[str, tuple[cache.ModelKey, str | None]]:
    """Name -> (model, placement in whose colour it is drawn): both twins, or the chosen model alone."""
    if view.model.source in norm_pair.TWINS:
        keys = norm_pair.pair_of(view).keys
        return {f"twin-{placement}": (keys[placement], placement) for placement in norm_pair.PLACEMENTS}
    return {model.name: (view.model, model.config.norm_placement)}


def show(sides: dict[str, tuple[cache.ModelKey, str | None]], found: dict[str, blanks.Guesses]) -> None:
    """Bars for every blank, one model beside the other."""
    first = next(iter(found.values()))
    top = state.bound(
        st.slider, "top", "Words", min_value=LEAST_WORDS, max_value=MOST_WORDS, help="How many words are shown.",
        width=320,
    )  # fmt: skip
    n_blanks = len(first.predictions)
    if n_blanks > MOST_BLANKS:
        st.info(f"The text has {n_blanks:,} blanks. Shown: the first {MOST_BLANKS}.")
    for blank in range(min(n_blanks, MOST_BLANKS)):
        one_blank(blank, top, sides, found, n_blanks)


def one_blank(
    blank: int, top: int, sides: dict[str, tuple[cache.ModelKey, str | None]], found: dict[str, blanks.Guesses],
    n_blanks: int,
) -> None:  # fmt: skip
    entries = {name: guesses.predictions[blank] for name, guesses in found.items()}
    position = next(iter(entries.values())).position
    if n_blanks > 1:
        st.subheader(f"Blank {blank + 1} (token {position})", anchor=False)
    largest = max(entry.probabilities[0] for entry in entries.values())
    hidden = state.get("hidden").lower() if n_blanks == 1 else ""
    for column, (name, entry) in zip(st.columns(len(entries), gap="medium"), entries.items(), strict=True):
        placement = sides[name][1]
        with column:
            st.markdown(f"**{sidebar.plain(name)}** ({PLACEMENT_NAMES.get(placement or '', '')})")
            st.plotly_chart(
                word_bars(
                    [as_read(token) for token in entry.tokens[:top]], entry.probabilities[:top], placement=placement,
                    largest=largest, marked=hidden or None,
                ),
                key=f"words-{name}-{blank}", height=70 + 30 * top, config={"displayModeBar": False},
                alt=f"The {top} most probable words at token {position} in {name}, with their probabilities.",
            )  # fmt: skip
    st.caption(" ".join(said(entries, top)) + " " + " ".join(of_hidden(found, blank, hidden)))


def as_read(token: str) -> str:
    """A piece of the vocabulary as a person reads it; one that goes on a word keeps its sign."""
    return token.replace("Ġ", "").replace("▁", "") or token


def said(entries: dict[str, encoder.mlm.MaskedPrediction], top: int) -> list[str]:
    """What is expected, in words."""
    sentences = []
    for name, entry in entries.items():
        share = sum(entry.probabilities[:top])
        sentences.append(
            f"{name} expects “{sidebar.plain(as_read(entry.tokens[0]))}” with {entry.probabilities[0]:.3f}; the {top} "
            f"words shown have {share:.1%} of the probability together."
        )
    if len(entries) == 2:
        one, other = (set(entry.tokens[:top]) for entry in entries.values())
        sentences.append(f"{len(one & other)} of the {top} words are the same in both.")
    return sentences


def of_hidden(found: dict[str, blanks.Guesses], blank: int, hidden: str) -> list[str]:
    """How probable the word is that was there."""
    if not hidden:
        return []
    ranks = {name: guesses.rank(blank, hidden) for name, guesses in found.items()}
    if not any(ranks.values()):
        return [f"What stood there, “{sidebar.plain(hidden)}”, is no single entry of the vocabulary: it has no rank."]
    listed = [f"rank {rank[0]:,} with {rank[1]:.4f} in {name}" for name, rank in ranks.items() if rank]
    return [f"What stood there, “{sidebar.plain(hidden)}”, has {', '.join(listed)}."]


main()
