"""The line next to the map: the selected cell, row or column of the open head."""

from collections.abc import Sequence

from encoder.export import Map
from encoder.figures.numbers import three_digits
from encoder.measure import tokens
from pages.core.view import View, first_view
from pages.core.view.selection import Selection, clear, selected
from pages.core.widgets import answer
from pages.core.words import token_names
from pages.heads.head_maps import single


def draw(view: View, head: Map) -> None:
    """Draw the line for the tokens that are selected on this map."""
    shown, chosen = head.shown, selected(view)
    first, second = answer.HINT, ""
    if head.queries:
        verb = "attends" if len(head.queries) == 1 else "together attend"
        queries = names(shown.query_labels, head.queries, shown.places[0])
        weights = shown.from_rows(head.queries)
        largest = answer.largest(weights, shown.key_labels, shown.places[1])
        if head.keys:
            keys = names(shown.key_labels, head.keys, shown.places[1])
            if len(head.keys) == 1:
                first = f"{queries} {verb} to {keys}: {answer.weight(weights, head.keys[0])}."
            else:
                first = f"{queries} {verb} to {keys}: **{three_digits(float(weights[list(head.keys)].sum()))}**."
            second = f"Largest in this row: {largest}." if len(head.queries) == 1 else f"Largest sums: {largest}."
        else:
            first = f"{queries} {verb} most to {largest}."
            second = first_view.sentence(view) or "Select a cell of this row to read its weight."
    elif head.keys:
        keys = names(shown.key_labels, head.keys, shown.places[1])
        largest = answer.largest(shown.to_columns(head.keys), shown.query_labels, shown.places[0])
        first, second = f"{keys} receives most from {largest}.", "Select a cell of this column to read its weight."
    if (chosen.queries and not head.queries) or (chosen.keys and not head.keys):
        second = "The options hide the selected tokens here."
    answer.draw(
        first,
        second,
        cell={} if _is_one_weight(view, head, chosen) else None,
        clear=clear if chosen.queries or chosen.keys else None,
    )


def names(labels: Sequence[str], chosen: Sequence[int], places: Sequence[int]) -> str:
    """Rows or columns in bold."""
    return " + ".join(token_names.bold(labels, at, places[at]) for at in chosen)


def _is_one_weight(view: View, head: Map, chosen: Selection) -> bool:
    """Whether the selected cell is one weight that the model computed, and the forward pass shows it."""
    is_real = max((*chosen.queries, *chosen.keys), default=0) < view.trace.n_real
    is_cell = len(chosen.queries) == len(chosen.keys) == len(head.queries) == len(head.keys) == 1
    is_computed = single(head) is not None and not head.options.words and head.options.special != "renormalise"
    if not (is_real and is_cell and is_computed):
        return False
    special = tokens.is_special(view.trace)  # their cells may be set to 0
    return head.options.special == "show" or not any(special[token] for token in (*chosen.queries, *chosen.keys))
