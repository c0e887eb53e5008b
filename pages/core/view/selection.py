"""The selected head and tokens, the same on every page, and what a click does to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pages.components import GridEvent, PlotEvent, on_click
from pages.core.view import first_view
from pages.core.view.view import MOST_SELECTED, View, ViewParams
from pages.state import state


@dataclass(frozen=True)
class Selection:
    """The selected tokens, as ascending positions. A map may leave some of them out."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]


def selected(view: View) -> Selection:
    """The tokens that are selected, as far as this text has them."""
    n_tokens = view.run.pad_to or view.trace.n_tokens

    def tokens(one: int | None, more: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted(token for token in {one, *more} if token is not None and token < n_tokens))

    return Selection(
        tokens(view.i, state.get(ViewParams.more_queries)), tokens(view.j, state.get(ViewParams.more_keys))
    )


def select(i: int | None, j: int | None) -> None:
    """Select the query token i and the key token j on every page, and no others."""
    if (i, j) != (None, None):
        first_view.keep()
    state.put(ViewParams.i, i)
    state.put(ViewParams.j, j)
    state.put(ViewParams.more_queries, [])
    state.put(ViewParams.more_keys, [])


def select_several(queries: Sequence[int], keys: Sequence[int]) -> None:
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


def clear() -> None:
    """Select no token. For callbacks."""
    select(None, None)


def clearing(view: View) -> Callable[[], None] | None:
    """`clear`, where a token is selected."""
    return None if view.i is None and view.j is None else clear


def select_from(event: PlotEvent, block: int = 1) -> None:
    """Take a click on a map as the selection: a cell, a token of an axis, or "clear". For callbacks.

    block: tokens that one cell covers; a cell of a pooled map is not a single token.
    """
    on_click(
        cell=lambda i, j: select(i, j) if block == 1 else None,
        row=lambda i: select(i, state.get(ViewParams.j)),
        column=lambda j: select(state.get(ViewParams.i), j),
        clear=clear,
    )(event)


def open_head(layer: int, head: int) -> None:
    """Open a layer and a head on every page. For callbacks."""
    first_view.keep()
    state.put(ViewParams.layer, layer)
    state.put(ViewParams.head, head)


def open_from(event: GridEvent) -> None:
    """Open the head that was clicked in a grid of small maps. For callbacks."""
    if event["event"] == "open":
        open_head(event["layer"], event["head"])
