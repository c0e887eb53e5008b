"""The selected tokens: queries and keys, the same on every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pages.core.view.view import MOST_SELECTED, View, ViewParams
from pages.state.url_state import state


@dataclass(frozen=True)
class Selection:
    """The selected tokens, as ascending positions. A map may leave some of them out."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]


def selected(view: View) -> Selection:
    """The tokens that are selected, as far as this text has them."""
    n_tokens = view.model.pad or view.trace.n_tokens

    def tokens(one: int | None, more: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(token for token in {one, *more} if token is not None and token < n_tokens))

    return Selection(
        tokens(view.i, state.get(ViewParams.more_queries)), tokens(view.j, state.get(ViewParams.more_keys))
    )


def select(queries: Sequence[int], keys: Sequence[int]) -> None:
    """Select these tokens on every page. The token i (or j) stays the same while it is among them."""
    for one, more, tokens in (
        (ViewParams.i, ViewParams.more_queries, queries),
        (ViewParams.j, ViewParams.more_keys, keys),
    ):
        chosen = sorted(set(tokens))[:MOST_SELECTED]
        first = state.get(one)
        if first not in chosen:
            first = chosen[0] if chosen else None
        state.put(one, first)
        state.put(more, [token for token in chosen if token != first])


def toggled(tokens: Sequence[int], token: int) -> list[int]:
    """The tokens with this one added, or removed if it was among them."""
    return sorted({*tokens} ^ {token})
