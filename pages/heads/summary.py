"""The open head in words: its strongest weights, and whether it attends mostly to one special token."""

from collections.abc import Sequence

import streamlit as st

from encoder import Trace, figures
from encoder.export import Map
from encoder.measure import head_types, ranking
from encoder.measure.head_types import Sink
from pages.core.inputs.input_words import words_of
from pages.core.view import View, head_measures
from pages.core.widgets import weight_table
from pages.core.words import about, token_names
from pages.heads.answer import names
from pages.heads.head_maps import is_whole, overview, single
from pages.state import links

#: Rows of the lists.
LISTED = 6


def strongest_weights(head: Map) -> None:
    """What the selected tokens attend to, or what attends to them; without a selection the strongest weights."""
    shown = head.shown
    name = head.name.replace("Mean of", "the mean of")  # inside a sentence
    queries = names(shown.query_labels, head.queries, shown.places[0])
    keys = names(shown.key_labels, head.keys, shown.places[1])
    if head.queries:
        verb = "attends" if len(head.queries) == 1 else "together attend"
        st.markdown(f"In {name}, {queries} {verb} most to{_summed(head.queries)}:")
        best = ranking.strongest(shown.from_rows(head.queries), LISTED)
        rows = [(figures.isolated(shown.key_labels[at]), shown.key_tokens(at)[0], weight) for at, weight in best]
        weight_table.draw(rows, len(head.queries))
    elif head.keys:
        st.markdown(f"In {name}, these tokens attend most to {keys}{_summed(head.keys)}:")
        best = ranking.strongest(shown.to_columns(head.keys), LISTED)
        rows = [(figures.isolated(shown.query_labels[at]), shown.query_tokens(at)[0], weight) for at, weight in best]
        weight_table.draw(rows, len(head.keys))
    else:
        st.markdown(f"Strongest weights of {name}:")
        weight_table.draw(
            [
                (
                    figures.arrow(shown.query_labels[row], shown.key_labels[column]),
                    f"{shown.query_tokens(row)[0]} → {shown.key_tokens(column)[0]}",
                    weight,
                )
                for row, column, weight in shown.strongest(LISTED)
            ]
        )


def _summed(places: Sequence[int]) -> str:
    return "" if len(places) == 1 else f" (weights of {len(places)} tokens, summed)"


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
            f":material/vertical_align_bottom: **Most attention goes to {names}.** In this "
            f"{words_of(view.trace).text}, L{view.layer} H{view.head} gives {found.share:.0%} of its attention there. "
            f"Uniform attention would give {found.uniform:.0%}."
        )
        # Only the separators of a text have a reading.
        kinds = [found.kind] if found.kind != "separators" or view.trace.kind == "text" else []
        st.caption(" ".join(about.text(__file__, one) for one in [*kinds, "any sink"]))
        links.link("contribution", "See the contribution: norm-weighted attention", "scale")


def _sink(view: View) -> Sink | None:
    threshold = head_measures.thresholds().special
    layer, head = view.layer, view.head

    def find(trace: Trace) -> Sink | None:
        received = None if is_whole(view) else overview(view, layer, head).received
        return head_types.sink(trace, layer, head, threshold, received)

    return view.derived(("sink", layer, head, threshold), find)
