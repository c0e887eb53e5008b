"""A text as in a batch: the view of a text that is padded to a length."""

from __future__ import annotations

import dataclasses

from pages.core.view import View, state


def applied(view: View) -> View:
    """The view with the padding that the reader asks for, as far as text and model allow it."""
    if state.newest("pad") is None or not view.loaded.can_pad:
        return view
    takes = view.loaded.config.max_tokens
    length = state.limit("pad", 1, takes, f"{view.loaded.name} takes batches of")
    if length <= view.trace.n_tokens:
        return view
    padded = dataclasses.replace(view.model, pad=length, padding=state.newest("padding"))
    return dataclasses.replace(view, model=padded)
