"""The view of words with boxes: each word at its place on the page, shaded by the open head, and its directions."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from encoder.figures.numbers import three_digits
from encoder.figures.page_words import page_of_words
from encoder.measure.page_words import DIRECTIONS, Directions, PageWords, directions, page_words
from pages.components import PlotEvent, on_click, plot
from pages.components.button import button
from pages.core.view import View, selection
from pages.core.widgets import Export, answer, title
from pages.core.words import gestures, token_names
from pages.heads.params import Params
from pages.state import state

#: Directions in words, of a key seen from its query.
NAMES = {
    "left": "left, same line",
    "right": "right, same line",
    "above": "any higher line",
    "below": "any lower line",
    "here": "the same box",
    "special": "special tokens",
}
#: What a weight of a word is.
MEANS = "Weights to the tokens of a word are added, those from them are averaged."
WHICH = {"to": "What it attends to", "from": "What attends to it"}


def draw(view: View) -> Export:
    """The words at their places, and how much the head attends in each direction."""
    words: PageWords = view.derived("page words", page_words)
    found: Directions = view.derived("page directions", directions)
    direction = state.segmented(Params.direction, "Shaded by", WHICH, label_visibility="collapsed")
    weights = _weights(view, words, direction)
    chosen = None if view.i is None or words.of_token[view.i] < 0 else int(words.of_token[view.i])
    with answer.area():
        _answer(view, words, weights, direction)
        _draw_directions(view, found)
        _draw_page(view, words, weights, chosen, direction)
    _draw_most(found)
    return Export(
        view,
        title(view, f"Words on the page, L{view.layer} H{view.head}"),
        lambda: _frame(words, weights),
        figures=lambda: {"Words on the page": _figure(view, words, weights, chosen, direction)},
        lines="from encoder.measure.page_words import directions, page_words\n"
        "words = page_words(trace)\n"
        f"shares = directions(trace).heads[{view.layer}, {view.head}]  # {', '.join(DIRECTIONS)}",
        settings={NAMES[name].capitalize(): three_digits(share) for name, share in _shares(view, found).items()},
    )


def _weights(view: View, words: PageWords, direction: str) -> np.ndarray:
    """[W]: of the selected word, as sums and means over its tokens; without one, what a word receives on average."""
    maps = view.trace.attention(view.layer, view.head)
    if view.i is not None and direction == "from":
        return words.from_words(maps, words.unit(view.i))
    return words.to_words(maps, view.i)


def _answer(view: View, words: PageWords, weights: np.ndarray, direction: str) -> None:
    best = [int(word) for word in np.argsort(-weights, kind="stable")[: answer.NAMED]]
    from_it = view.i is not None and direction == "from"
    parts = [len(words.unit(view.i) if from_it else words.tokens[word]) / view.trace.n_real for word in best]
    largest = ", ".join(
        f"{token_names.quoted(words.words, word)} {three_digits(weights[word])} (uniform {three_digits(part)})"
        for word, part in zip(best, parts, strict=True)
    )
    on_special = words.to_special(view.trace.attention(view.layer, view.head), view.i)
    rest = f" On tokens without a place: {three_digits(on_special)}."
    if view.i is None:
        how = gestures.invitation("Select a word to read its own attention.")
        answer.draw(f"On average, words attend most to {largest}.", f"{how}{rest}")
        return
    word = int(words.of_token[view.i])
    name = token_names.bold(view.trace.labels, view.i) if word < 0 else token_names.bold(words.words, word)
    if from_it:
        answer.draw(f"Most attention to {name} comes from {largest}.", MEANS, clear=selection.clear)
    else:
        answer.draw(f"{name} attends most to {largest}.", f"{MEANS}{rest}", clear=selection.clear)


def _figure(view: View, words: PageWords, weights: np.ndarray, chosen: int | None, direction: str) -> object:
    what = "weight" if direction == "to" else "weight from this word"
    selected = () if chosen is None else (chosen,)
    return page_of_words(words.words, words.boxes, weights, selected=selected, colours=view.colours, what=what)


def _draw_page(view: View, words: PageWords, weights: np.ndarray, chosen: int | None, direction: str) -> None:
    def select(event: PlotEvent) -> None:
        selection.select(words.tokens[event["point"]][0], None)

    name = "all words" if chosen is None else words.words[chosen]
    plot(
        _figure(view, words, weights, chosen, direction),
        key="page-words",
        alt=f"{len(words.words)} words at their places on the page, shaded by the attention of {name}.",
        height=360,
        on_event=on_click(point=select, clear=selection.clear),
    )


def _shares(view: View, found: Directions) -> dict[str, float]:
    return dict(zip(DIRECTIONS, found.heads[view.layer, view.head].tolist(), strict=True))


def _draw_directions(view: View, found: Directions) -> None:
    """Shares of the open head by direction, which add up to 1, each next to that of uniform attention."""
    shares = found.heads[view.layer, view.head]
    name, most = f"L{view.layer} H{view.head}", int((shares - found.uniform).argmax())
    st.markdown(
        f"**Most above uniform attention**: {NAMES[DIRECTIONS[most]]}, {three_digits(float(shares[most]))} "
        f"(uniform {three_digits(float(found.uniform[most]))}). Each row: the mean over words; it adds up to 1."
    )
    rows = {name: shares, "Uniform": found.uniform}
    table = pd.DataFrame(rows.values(), columns=[NAMES[one] for one in DIRECTIONS])
    table.insert(0, "Seen from a word", list(rows))
    numbers = {one: st.column_config.NumberColumn(format="%.3f") for one in NAMES.values()}
    st.dataframe(table, hide_index=True, column_config=numbers, width="stretch")


def _draw_most(found: Directions) -> None:
    """The head with the largest share in each direction."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="page-directions"):
        st.markdown("Largest share of all heads:", width="content")
        for at, name in enumerate(DIRECTIONS[:4]):
            layer, head = found.most(name)
            share, usual = (three_digits(float(one)) for one in (found.heads[layer, head, at], found.uniform[at]))
            button(
                f"{NAMES[name].capitalize()}: L{layer} H{head}, {share} (uniform {usual})",
                "grid_view",
                f"page-most-{name}",
                partial(selection.open_head, layer, head),
                type="tertiary",
            )


def _frame(words: PageWords, weights: np.ndarray) -> pd.DataFrame:
    """A row for each word: its box and its weight."""
    table = pd.DataFrame(words.boxes, columns=["left", "upper", "right", "lower"])
    table.insert(0, "word", list(words.words))
    return table.assign(weight=weights)
