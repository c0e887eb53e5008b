"""The open head in words: the line next to the map, and whether it has a sink."""

from collections.abc import Sequence

import streamlit as st

from encoder import Trace
from encoder.export import Map
from encoder.figures.numbers import three_digits
from encoder.measure import head_types
from encoder.trace import tokens
from encoder.views.options import AS_COMPUTED
from pages.core.inputs.input_words import words_of
from pages.core.view import View, first_view, head_measures, maps
from pages.core.view.selection import Selection, clear, selected
from pages.core.widgets import answer
from pages.core.words import about, token_names
from pages.heads.head_maps import single
from pages.state import links


def draw_answer(view: View, head: Map) -> None:
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
            second = first_view.sentence(view) or answer.HINT_IN_ROW
    elif head.keys:
        keys = names(shown.key_labels, head.keys, shown.places[1])
        largest = answer.largest(shown.to_columns(head.keys), shown.query_labels, shown.places[0])
        first, second = (
            f"{keys} receives most from {largest}.",
            answer.HINT_IN_COLUMN,
        )
    else:
        for row, column, weight in shown.strongest(1):
            query = names(shown.query_labels, [row], shown.places[0])
            key = names(shown.key_labels, [column], shown.places[1])
            first, second = f"Largest weight: {query} attends to {key}, **{three_digits(weight)}**.", answer.HINT
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


# --- one token that receives most of the attention -------------------------------------------------------------------


def sink_note(view: View, head: Map) -> None:
    """A note on a head that attends mostly to the first token or to the separators: measurement, then readings."""
    if single(head) is None:
        return
    found = _sink(view)
    if found is None:
        return
    names = " and ".join(token_names.bold(view.trace.labels, place) for place in found.tokens)
    with st.container(border=True, gap="small"):
        st.markdown(
            f":material/vertical_align_bottom: **Tokens attend mainly to {names}.** In this "
            f"{words_of(view.trace).text}, L{view.layer} H{view.head} gives {found.share:.0%} of its attention there. "
            f"Uniform attention would give {found.uniform:.0%}."
        )
        # Only the separators of a text have a reading.
        kinds = [found.kind] if found.kind != "separators" or view.trace.kind == "text" else []
        st.caption(" ".join(about.text(__file__, one) for one in [*kinds, "any sink"]))
        label, part = "See the contribution: norm-weighted attention", {"beyond": "moves"}
        links.button("contribution", label, "scale", "open-norm-weighted", part, type="tertiary")


def _sink(view: View) -> head_types.Sink | None:
    threshold = head_measures.thresholds().special
    layer, head = view.layer, view.head

    def find(trace: Trace) -> head_types.Sink | None:
        received = maps.of_head(view, AS_COMPUTED, layer, head).received()
        return head_types.sink(trace, layer, head, threshold, received)

    return view.derived(("sink", layer, head, threshold), find)
