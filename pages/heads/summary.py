"""The open head in words: its strongest weights, and whether it attends mostly to one special token."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from encoder import figures
from encoder.export import Map
from encoder.figures.numbers import three_digits
from encoder.measure import head_types, ranking
from encoder.measure.head_types import Sink
from encoder.trace.trace import Trace
from pages.core.inputs.input_words import words_of
from pages.core.view import head_measures
from pages.core.view.view import View
from pages.core.words import references, token_names
from pages.heads.head_maps import is_whole, overview, single
from pages.state import links

#: Rows of the lists.
LISTED = 6


def strongest_weights(head: Map) -> None:
    """What the selected tokens attend to, or what attends to them; without a selection the strongest weights."""
    shown = head.shown
    name = head.name.replace("Mean of", "the mean of")  # inside a sentence
    queries = _names([(shown.query_labels[row], shown.query_tokens(row)[0]) for row in head.queries])
    keys = _names([(shown.key_labels[column], shown.key_tokens(column)[0]) for column in head.keys])
    if head.queries:
        verb = "attends" if len(head.queries) == 1 else "together attend"
        st.markdown(f"In {name}, {queries} {verb} most to{_summed(head.queries)}:")
        best = ranking.strongest(shown.from_rows(head.queries), LISTED)
        rows = [(figures.isolated(shown.key_labels[at]), shown.key_tokens(at)[0], weight) for at, weight in best]
        _bars(rows, len(head.queries))
    elif head.keys:
        st.markdown(f"In {name}, these tokens attend most to {keys}{_summed(head.keys)}:")
        best = ranking.strongest(shown.to_columns(head.keys), LISTED)
        rows = [(figures.isolated(shown.query_labels[at]), shown.query_tokens(at)[0], weight) for at, weight in best]
        _bars(rows, len(head.keys))
    else:
        st.markdown(f"Strongest weights of {name}:")
        _bars(
            [
                (
                    figures.arrow(shown.query_labels[row], shown.key_labels[column]),
                    f"{shown.query_tokens(row)[0]} → {shown.key_tokens(column)[0]}",
                    weight,
                )
                for row, column, weight in shown.strongest(LISTED)
            ]
        )


def _names(tokens: Sequence[tuple[str, int]]) -> str:
    """Tokens, given as (label, position), in bold."""
    return " + ".join(f"**{token_names.word(label)}** ({position})" for label, position in tokens)


def _summed(places: Sequence[int]) -> str:
    return "" if len(places) == 1 else f" (weights of {len(places)} tokens, summed)"


def _bars(rows: list[tuple[str, int | str, float]], n_summed: int = 1) -> None:
    """Label, position and weight, with a bar from 0 to the largest possible value: 1 for each of the summed weights.

    A table of HTML: for Streamlit's own, a browser fetches 0.3 MB of scripts.
    """
    body = "".join(
        f"<tr><td>{escape(label)}</td><td>{escape(str(position))}</td><td>{three_digits(weight)}"
        f'<i style="width:{100 * weight / n_summed:.1f}%"></i></td></tr>'
        for label, position, weight in rows
    )
    head = '<tr><th scope="col">Token</th><th scope="col">Position</th><th scope="col">Weight</th></tr>'
    st.html(f'<table class="enc-weights"><thead>{head}</thead><tbody>{body}</tbody></table>')


# --- one token that receives most of the attention -------------------------------------------------------------------

#: What published work suggests about heads that attend mostly to special tokens, each with its limits.
_READINGS = {
    "opening": "Xiao et al. (2023) call such a first token an *attention sink*. They studied decoder language models; "
    "encoders may differ.",
    "separators": "Clark et al. (2019) suggest that BERT heads attend to [SEP] when their function does not apply: a "
    "“no-op”. This is a hypothesis.",
}


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
        references.caption(
            f"{_reading(view, found)}A large weight need not be a large contribution: in BERT, the transformed values "
            "of special tokens often have a small norm (Kobayashi et al. 2020)."
        )
        links.link("contribution", "See the contribution: norm-weighted attention", "scale")


def _reading(view: View, found: Sink) -> str:
    """What the literature suggests; nothing of separators, where the special tokens are none."""
    return "" if found.kind == "separators" and view.trace.kind != "text" else f"{_READINGS[found.kind]} "


def _sink(view: View) -> Sink | None:
    threshold = head_measures.thresholds().special
    layer, head = view.layer, view.head

    def find(trace: Trace) -> Sink | None:
        received = None if is_whole(view) else overview(view, layer, head).received
        return head_types.sink(trace, layer, head, threshold, received)

    return view.derived(("sink", layer, head, threshold), find)
