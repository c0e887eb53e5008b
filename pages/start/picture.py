"""The live picture: what one word of the visitor's sentence attends to, in the head where it does so most tellingly."""

from __future__ import annotations

import streamlit as st

from encoder import export
from encoder.figures.numbers import three_digits
from encoder.measure import ranking, telling
from pages.components import lines, text_shade
from pages.core.frame import sidebar
from pages.core.view.view import View
from pages.core.words import gestures, token_names
from pages.state import links

#: Up to this many tokens the picture has lines; a longer text is shaded.
MOST_LINES = 24


def draw(view: View) -> None:
    """The picture and its answer; below, the pages with the numbers behind it."""
    choice = _choice(view)
    if choice is None:
        st.info("Type a sentence of three words or more to see what its words attend to.")
        return
    st.markdown(_answer(view, choice))
    with st.container(horizontal=True, gap="small"):
        values = {"layer": choice.layer, "head": choice.head, "i": choice.query, "j": _key(view, choice)}
        links.button(
            "forward_pass", "How this weight is made", "calculate", "start-numbers", {**values, "step": "softmax"}
        )
        links.button("heads", "All heads of this sentence", "grid_view", "start-heads", values)
    draw_one = _lines if view.trace.n_tokens <= MOST_LINES else _text
    draw_one(view, choice)


def _choice(view: View) -> telling.Choice | None:
    """The selected word in its most telling head; without one, the most telling word."""
    first = view.derived("most telling", telling.most_telling)
    query = view.i
    if query is None or query >= view.trace.n_real:
        return first
    return view.derived(("most telling head", query), lambda trace: telling.of_word(trace, query)) or first


def _key(view: View, choice: telling.Choice) -> int:
    """The selected key, otherwise the word that the query attends to most."""
    return view.j if view.i is not None and view.j is not None else choice.key


def _answer(view: View, choice: telling.Choice) -> str:
    """What the word attends to, in one line; for a pronoun, what this does not prove."""
    trace, key = view.trace, _key(view, choice)
    row = trace.attention(choice.layer, choice.head, slice(choice.query, choice.query + 1))[0]
    query_name, key_name = (token_names.bold(trace.labels, place) for place in (choice.query, key))
    rank, count = ranking.rank(row, key)
    said = (
        f"In L{choice.layer} H{choice.head}, {query_name} attends to {key_name}: {three_digits(float(row[key]))}. "
        f"Rank: {rank} of {count}."
    )
    return f"{said} A pattern is no proof of coreference." if choice.is_pronoun else said


def _lines(view: View, choice: telling.Choice) -> None:
    keys = () if view.i is None or view.j is None else [view.j]
    drawn = export.lines(view.trace, [(choice.layer, choice.head)], queries=[choice.query], keys=keys)
    lines(
        drawn.picture(),
        key="start-lines",
        always_selected=True,
        on_event=lambda event: _select(view, event["queries"], event["keys"], choice),
    )
    gestures.caption(f"{gestures.CLICK} a word on the left to ask for it, or a word on the right to read its weight.")


def _text(view: View, choice: telling.Choice) -> None:
    options = export.Options(scale_to_max=True)
    drawn = export.text(view.trace, choice.layer, choice.head, selected=[choice.query], options=options)
    found = drawn.shades
    with st.container(height=340):
        text_shade(
            drawn.picture(is_fixed=True),
            key="start-text",
            always_selected=True,
            on_event=lambda event: _select(view, [found.units[unit][0] for unit in event["units"]], [], choice),
        )
    gestures.caption(f"{gestures.CLICK} a word to see what it attends to.")


def _select(view: View, queries: list[int], keys: list[int], choice: telling.Choice) -> None:
    """Ask for a word, or for one of its weights; the other pages open with the same. For callbacks."""
    sidebar.select(queries[-1] if queries else choice.query, keys[-1] if keys else None)
    if keys:
        sidebar.open_head(choice.layer, choice.head)
