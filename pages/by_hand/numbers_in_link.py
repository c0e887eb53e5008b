"""The changed numbers of the page “By hand” as a value in the address."""

import json
import math

import streamlit as st

from encoder import EncoderError
from encoder.explain.by_hand import LARGEST, Inputs
from pages.by_hand.params import Params
from pages.core.words import say_error
from pages.state import state

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


def current() -> Inputs:
    """The numbers of the address; those of the example, with a sentence that says why, where they cannot be read."""
    try:
        return decode(state.get(Params.inputs))
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/link_off:")
        return _DEFAULTS
