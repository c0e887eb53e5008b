"""Editable tables of the page “Attention by hand”, and the changed numbers as a value in the address.

A table widget stores its edits, so it keeps the numbers that it started from. It gets new numbers, under a new key,
only when the address has others: from a link, the browser's back button or the reset button.
"""

import json
import math

import pandas as pd
import streamlit as st

from encoder import EncoderError
from encoder.explain.by_hand import LARGEST, Inputs
from pages.by_hand.params import Params
from pages.core.words import say_error
from pages.state import state

_BASE, _VERSION, _WRITTEN = "inputs:base", "inputs:version", "inputs:written"
_DEFAULTS = Inputs()
_SHOWN = "Shown: the numbers of the example."
_MATRICES = (
    "embeddings", "position_rows", "w_q", "w_k", "w_v", "w_o", "w_in", "b_in", "w_out", "b_out", "attention_gain",
    "attention_shift", "ffn_gain", "ffn_shift",
)  # fmt: skip
_NAMED_ROWS = ("embeddings", "position_rows")  # each row has the name of a word
_OPTIONS = {"positions": ("notes", "formula", "own"), "norm_placement": ("post", "pre"), "scaled": (True, False)}


def decode(text: str) -> Inputs:
    """The changed numbers in an address -> Inputs. Raises EncoderError for a value that cannot be read."""
    if not text:
        return _DEFAULTS
    try:
        changes = json.loads(text)
    except ValueError:
        changes = None
    known = {*_MATRICES, *_OPTIONS, "eps"}
    if not isinstance(changes, dict) or not set(changes) <= known:
        raise EncoderError(f"The link's numbers cannot be read. {_SHOWN}")
    for name, options in _OPTIONS.items():
        if name in changes and changes[name] not in options:
            raise EncoderError(f"The link has {name}={changes[name]!r}, which is not an option. {_SHOWN}")
    for name in set(changes) & {*_MATRICES, "eps"}:
        usual = getattr(_DEFAULTS, name)
        as_many = name not in _NAMED_ROWS or (isinstance(changes[name], list) and len(changes[name]) == len(usual))
        if not (as_many and _like(changes[name], usual)):
            raise EncoderError(f"The link's {name} does not have the form of the example's. {_SHOWN}")
    if "eps" in changes:
        changes["eps"] = float(changes["eps"])
    return _DEFAULTS.replace(**changes)


def _like(value: object, usual: object) -> bool:
    """Whether a link's value has the form of a table of the page: rows of cells with a number or nothing."""
    if isinstance(usual, tuple):
        if not isinstance(value, list) or not value:
            return False
        if isinstance(usual[0], tuple):
            return all(isinstance(row, list) and row and all(_is_cell(cell) for cell in row) for row in value)
        return all(_is_cell(cell) for cell in value)
    return _is_cell(value) and value is not None and 0 <= value <= LARGEST


def _is_cell(cell: object) -> bool:
    return cell is None or (isinstance(cell, int | float) and not isinstance(cell, bool) and math.isfinite(cell))


def encode(inputs: Inputs) -> str:
    """The numbers that differ from the defaults as short JSON, or an empty text."""
    changes = {
        name: getattr(inputs, name)
        for name in (*_MATRICES, *_OPTIONS, "eps")
        if getattr(inputs, name) != getattr(_DEFAULTS, name)
    }
    return json.dumps(changes, separators=(",", ":")) if changes else ""


def begin() -> Inputs:
    """The numbers that the tables of this run start from."""
    asked = state.get(Params.inputs)
    # Widgets that were not drawn in the last run (another page, the other part of this one) have lost their edits.
    anew = _BASE not in st.session_state or key("positions") not in st.session_state
    if anew or asked != st.session_state[_WRITTEN]:
        try:
            base = decode(asked)
        except EncoderError as error:
            say_error(error, st.warning, icon=":material/link_off:")
            base = _DEFAULTS
        st.session_state[_BASE] = base
        st.session_state[_VERSION] = st.session_state.get(_VERSION, 0) + 1
        st.session_state[_WRITTEN] = asked
    return st.session_state[_BASE]


def end(inputs: Inputs) -> None:
    """Write the numbers on the screen into the address."""
    text = encode(inputs)
    st.session_state[_WRITTEN] = text
    state.put(Params.inputs, text)


def reset() -> None:
    """Back to the numbers of the example. For callbacks."""
    state.put(Params.inputs, "")
    st.session_state[_WRITTEN] = None


def key(name: str) -> str:
    """Key of the widget that edits `name`."""
    return f"inputs:{name}:{st.session_state[_VERSION]}"


def matrix(name: str, base: Inputs, title: str, rows: tuple[str, ...] | None = None) -> tuple:
    """Draw an editable table. Returns its numbers as nested tuples, an empty cell as None."""
    start = getattr(base, name)
    vector = not isinstance(start[0], tuple)
    table = [start] if vector else list(start)
    columns = [str(column) for column in range(len(table[0]))]
    frame = pd.DataFrame(table, columns=columns, index=list(rows or (str(row) for row in range(len(table)))))
    st.markdown(title)
    edited = st.data_editor(
        frame,
        key=key(name),
        width="stretch",
        hide_index=rows is None,
        # An empty heading would be read aloud as nothing.
        column_config={"_index": st.column_config.Column("Token")}
        | {column: st.column_config.NumberColumn(column, format="%.4g", step=1e-6, width=58) for column in columns},
    )
    numbers = tuple(tuple(None if pd.isna(value) else float(value) for value in row) for row in edited.to_numpy())
    return numbers[0] if vector else numbers


def number(name: str, base: Inputs, label: str, **more) -> float:
    """One editable number."""
    return st.number_input(label, value=getattr(base, name), key=key(name), **more)


def choice(name: str, base: Inputs, label: str, titles: dict, **more) -> object:
    """Draw a choice; it keeps its value like the tables."""
    widget = key(name)
    if widget not in st.session_state:
        st.session_state[widget] = getattr(base, name)
    return st.segmented_control(
        label, list(titles), key=widget, format_func=titles.get, required=True, on_change=_take, args=(name,), **more
    )


def _take(name: str) -> None:
    # A choice can add or remove a table and with it its edits, so all tables start again from the address.
    inputs = decode(state.get(Params.inputs)).replace(**{name: st.session_state[key(name)]})
    state.put(Params.inputs, encode(inputs))
