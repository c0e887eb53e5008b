"""The view of words with boxes, or of nodes: each at its place, shaded by the open head, and its directions."""

from base64 import b64encode
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from encoder.figures.numbers import three_digits
from encoder.figures.page_words import page_of_words
from encoder.measure.page_words import IMAGE, RELATIONS, Directions, PageWords, directions, outline, page_words
from pages.components import PlotEvent, on_click, plot
from pages.components.button import button
from pages.core.inputs import drawn_boxes
from pages.core.view import View, selection
from pages.core.widgets import Export, answer, title
from pages.core.words import gestures, token_names
from pages.heads.params import Params
from pages.state import state

#: Directions in words, of a key seen from its query.
OF_BOXES = {
    "left": "left, same line",
    "right": "right, same line",
    "above": "any higher line",
    "below": "any lower line",
    "here": "the same box",
    "special": "special tokens",
    IMAGE: "patches of the image",
}
OF_NODES = {
    "inside": "tags inside its own",
    "around": "tags around its own",
    "next": "the same tag",
    "apart": "any other tag",
    "here": "the same node",
    "special": "special tokens",
}
#: What a weight of a word, or of a node, is.
MEANS = "Weights to the tokens of a {unit} are added, those from them are averaged."
#: Nodes that the outline of a tree shows.
MOST_LINES = 40
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
        title(view, f"{_unit(words).capitalize()}s of the page, L{view.layer} H{view.head}"),
        lambda: _frame(words, weights),
        figures=lambda: {f"{_unit(words).capitalize()}s of the page": _figure(view, words, weights, chosen, direction)},
        lines="from encoder.measure.page_words import directions, page_words\n"
        "words = page_words(trace)\n"
        f"shares = directions(trace).heads[{view.layer}, {view.head}]  # {', '.join(found.names)}",
        settings={_names(found)[name].capitalize(): three_digits(one) for name, one in _shares(view, found).items()},
    )


def _unit(words: PageWords) -> str:
    """What the page is made of."""
    return "node" if words.paths else "word"


def _names(found: Directions) -> dict[str, str]:
    """The directions in words."""
    return OF_NODES if found.names == RELATIONS else OF_BOXES


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
    unit = _unit(words)
    means = MEANS.format(unit=unit)
    if view.i is None:
        how = gestures.invitation(f"Select a {unit} to read its own attention.")
        answer.draw(f"On average, {unit}s attend most to {largest}.", f"{how}{rest}")
        return
    word = int(words.of_token[view.i])
    name = token_names.bold(view.trace.labels, view.i) if word < 0 else token_names.bold(words.words, word)
    if from_it:
        answer.draw(f"Most attention to {name} comes from {largest}.", means, clear=selection.clear)
    else:
        answer.draw(f"{name} attends most to {largest}.", f"{means}{rest}", clear=selection.clear)


def _figure(view: View, words: PageWords, weights: np.ndarray, chosen: int | None, direction: str) -> object:
    what = "weight" if direction == "to" else f"weight from this {_unit(words)}"
    drawn = _drawn(words, weights, chosen)
    selected = [place for place, word in enumerate(drawn) if word == chosen]
    boxes = (
        outline([words.words[one] for one in drawn], [words.paths[one] for one in drawn])
        if words.paths
        else words.boxes
    )
    return page_of_words(
        [words.words[one] for one in drawn],
        boxes,
        weights[drawn],
        names=[words.paths[one] for one in drawn] if words.paths else (),
        selected=selected,
        colours=view.colours,
        what=what,
        n_patches=words.n_patches,
        **(_ground(view) if words.n_patches else {}),
    )


def _ground(view: View) -> dict[str, Any]:
    """The image of the page as an address that holds it, and its height as a share of its width."""
    image = drawn_boxes.picture(view.run.of_text.page or "")
    if image is None:
        return {}
    content = b64encode(drawn_boxes.jpeg(image)).decode()
    return {"ground": f"data:image/jpeg;base64,{content}", "aspect": image.height / image.width}


def _drawn(words: PageWords, weights: np.ndarray, chosen: int | None) -> list[int]:
    """The words that the picture shows: all; of nodes those of the largest weights, and the chosen one."""
    everything = range(len(words.words))
    if not words.paths or len(everything) <= MOST_LINES:
        return list(everything)
    best = sorted(everything, key=lambda one: (one != chosen, -weights[one]))
    return sorted(best[:MOST_LINES])


def _draw_page(view: View, words: PageWords, weights: np.ndarray, chosen: int | None, direction: str) -> None:
    drawn, unit = _drawn(words, weights, chosen), _unit(words)

    def select(event: PlotEvent) -> None:
        selection.select(words.tokens[drawn[event["point"]]][0], None)

    name = f"all {unit}s" if chosen is None else words.words[chosen]
    if len(drawn) < len(words.words):
        st.caption(f"The {len(drawn)} of {len(words.words):,} nodes with the largest weights are drawn.")
    plot(
        _figure(view, words, weights, chosen, direction),
        key="page-words",
        alt=f"{len(drawn)} {unit}s at their places on the page, shaded by the attention of {name}.",
        height=max(360, 24 * len(drawn)) if words.paths else 560 if words.n_patches else 360,
        on_event=on_click(point=select, clear=selection.clear),
    )


def _shares(view: View, found: Directions) -> dict[str, float]:
    return dict(zip(found.names, found.heads[view.layer, view.head].tolist(), strict=True))


def _draw_directions(view: View, found: Directions) -> None:
    """Shares of the open head by direction, which add up to 1, each next to that of uniform attention."""
    shares, names = found.heads[view.layer, view.head], _names(found)
    unit = "node" if names is OF_NODES else "word"
    name, most = f"L{view.layer} H{view.head}", int((shares - found.uniform).argmax())
    st.markdown(
        f"**Most above uniform attention**: {names[found.names[most]]}, {three_digits(float(shares[most]))} "
        f"(uniform {three_digits(float(found.uniform[most]))}). Each row: the mean over {unit}s; it adds up to 1."
    )
    rows = {name: shares, "Uniform": found.uniform}
    table = pd.DataFrame(rows.values(), columns=[names[one] for one in found.names])
    table.insert(0, f"Seen from a {unit}", list(rows))
    numbers = {one: st.column_config.NumberColumn(format="%.3f") for one in names.values()}
    st.dataframe(table, hide_index=True, column_config=numbers, width="stretch")


def _draw_most(found: Directions) -> None:
    """The head with the largest share in each direction."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="page-directions"):
        st.markdown("Largest share of all heads:", width="content")
        for at, name in enumerate(found.names[:4]):
            layer, head = found.most(name)
            share, usual = (three_digits(float(one)) for one in (found.heads[layer, head, at], found.uniform[at]))
            button(
                f"{_names(found)[name].capitalize()}: L{layer} H{head}, {share} (uniform {usual})",
                "grid_view",
                f"page-most-{name}",
                partial(selection.open_head, layer, head),
                type="tertiary",
            )


def _frame(words: PageWords, weights: np.ndarray) -> pd.DataFrame:
    """A row for each word: its box, or its path, and its weight."""
    if words.paths:
        return pd.DataFrame({"node": words.words, "path": words.paths, "weight": weights})
    table = pd.DataFrame(words.boxes, columns=["left", "upper", "right", "lower"])
    table.insert(0, "word", list(words.words))
    return table.assign(weight=weights)
