"""Ask for a word: the heads by how specific its attention is in them, the best one opened."""

import numpy as np
import streamlit as st

from encoder import figures
from encoder.measure import telling
from encoder.measure.ranking import largest_cell
from pages.core.view import View, selection
from pages.core.words import token_names
from pages.heads.params import Params
from pages.state import state

#: Up to this many words are buttons; the words of a longer text are a list.
BUTTONS = 48
#: Heads in the grid, the most telling first.
LISTED = 24
_ASKED_OF = "_asked_of"


def strip(view: View) -> None:
    """The words of the text; a click on one asks for it."""
    # Streamlit tells options apart by their text, so repeated words have their positions.
    names = [figures.isolated(name) for name in figures.disambiguate(view.trace.labels)]
    words = [place for place, one in enumerate(telling.is_word(view.trace)) if one]
    _forget_other_text(view, words)
    if len(words) < 3:
        return
    look = {
        "options": words,
        "on_change": _ask,
        "args": (view,),
        "help": f"Orders the heads by this word. {telling.DEFINITION.sentence}\n\n$${telling.DEFINITION.formula}$$",
    }
    with st.container(key="heads-ask"):
        if len(words) <= BUTTONS:
            state.bound(
                st.pills,
                Params.word,
                "Ask for a word: in which heads is its attention most specific?",
                format_func=names.__getitem__,
                **look,
            )
        else:
            state.bound(
                st.selectbox,
                Params.word,
                "Ask for a word",
                placeholder="Choose a word …",
                index=None,
                format_func=lambda place: f"{place} · {names[place]}",
                **look,
            )


def _forget_other_text(view: View, words: list[int]) -> None:
    """Ask for no word of the text before, and for no token that is not a word."""
    word, text = state.get(Params.word), (view.run.input.name, view.pair)
    before = st.session_state.get(_ASKED_OF)
    st.session_state[_ASKED_OF] = text, word
    if word is None:
        return
    if before is not None and before[0] != text and before[1] == word:
        state.put(Params.word, None)
    elif word not in words:
        st.warning(
            f"The link asks for word {word}, and this text has no word there. Choose one of the words below.",
            icon=":material/link_off:",
        )
        state.put(Params.word, None)


def _ask(view: View) -> None:
    """Open the head in which the word's attention is most specific, and select the word's row."""
    word = st.session_state[state.key(Params.word)]
    if word is None:
        return
    selection.open_head(*largest_cell(gains(view, word)))
    selection.select_several([word], ())
    state.put(Params.measure, "")
    state.put(Params.sort, "falling")
    state.put(Params.average, "none")


def gains(view: View, word: int) -> np.ndarray:
    """[L, H], nats: the information gain of a word in each head."""
    return view.derived(("telling", word), lambda trace: telling.information_gain(trace, word))


def title(view: View, word: int) -> str:
    """The measure's name for this word."""
    return f"Information gain of {token_names.quoted(view.trace.labels, word)}{_among(view, word)}"


def order(view: View) -> str:
    """By what the heads of the word that is asked for are ordered."""
    word = state.get(Params.word)
    return f"information gain{'' if word is None else _among(view, word)}"


def _among(view: View, word: int) -> str:
    """Which words count, where not all others do."""
    return " over earlier words" if telling.keys_of(view.trace, word) == "earlier" else ""
