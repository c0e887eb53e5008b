"""What a head's map says, in words and numbers: the strongest weights, and whether the head is a sink."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.errors import StreamlitAPIException

from encoder import figures
from encoder.figures.numbers import three_digits
from encoder.measure import ranking, sinks, tokens
from encoder.measure.head_map import HeadMap
from encoder.measure.sinks import Sink
from pages.core import cache, head_measures, selection, token_names
from pages.core.view import View
from pages.heads import options as head_options
from pages.heads.options import Options, Selection

#: Rows of the lists.
LISTED = 6


def what_is_seen(view: View, options: Options, shown: HeadMap, held: Selection) -> None:
    """What the selected tokens attend to most, or who attends to them, or the map's strongest weights."""
    rows, columns = held.rows(shown), held.columns(shown)
    name = head_options.name(view, options).replace("Mean of", "the mean of")  # within a sentence
    queries = _names([(shown.query_labels[row], shown.query_tokens(row)[0]) for row in rows])
    keys = _names([(shown.key_labels[column], shown.key_tokens(column)[0]) for column in columns])
    if rows and columns:
        weight = float(shown.from_rows(rows)[columns].sum())
        verb = "attends" if len(rows) == 1 else "together attend"
        st.markdown(f"{_told(shown, rows, columns) or f'{queries} {verb} to {keys}'} with **{three_digits(weight)}**.")
    if rows:
        weights = shown.from_rows(rows)
        verb = "attends" if len(rows) == 1 else "attend"
        st.markdown(f"What {queries} {verb} to most in {name}{_summed(rows)}:")
        _bars(
            [
                (figures.isolated(shown.key_labels[at]), shown.key_tokens(at)[0], w)
                for at, w in ranking.strongest(weights, LISTED)
            ]
        )
    elif columns:
        weights = shown.to_columns(columns)
        st.markdown(f"Who attends most to {keys} in {name}{_summed(columns)}:")
        _bars(
            [
                (figures.isolated(shown.query_labels[at]), shown.query_tokens(at)[0], w)
                for at, w in ranking.strongest(weights, LISTED)
            ]
        )
    else:
        st.markdown(f"The strongest weights of {name}. Select a cell or a token to see what it attends to.")
        cells = shown.strongest(LISTED)
        _bars(
            [
                (
                    figures.arrow(shown.query_labels[row], shown.key_labels[column]),
                    f"{shown.query_tokens(row)[0]} → {shown.key_tokens(column)[0]}",  # tells repeated words apart
                    weight,
                )
                for row, column, weight in cells
            ]
        )
    _hidden(held, rows, columns)
    _buttons(view, options, held, rows, columns)


def _told(shown: HeadMap, rows: list[int], columns: list[int]) -> str:
    """A single cell in words; "" of several."""
    if not len(rows) == len(columns) == 1:
        return ""
    query = token_names.bold(shown.query_labels, rows[0], shown.query_tokens(rows[0])[0])
    return f"{query} attends to {token_names.bold(shown.key_labels, columns[0], shown.key_tokens(columns[0])[0])}"


def _names(tokens: Sequence[tuple[str, int]]) -> str:
    """Tokens, given as (label, position), in bold."""
    return " + ".join(f"{_bold(label)} ({position})" for label, position in tokens)


def _bold(label: str) -> str:
    return f"**{token_names.word(label)}**"


def _summed(places: list[int]) -> str:
    return "" if len(places) == 1 else f", weights of the {len(places)} summed"


def _hidden(held: Selection, rows: list[int], columns: list[int]) -> None:
    """Tokens that are selected, and that the options do not show."""
    if (held.queries and not rows) or (held.keys and not columns):
        st.caption("What is selected is not among the rows and columns that the options show here.")


def _buttons(view: View, options: Options, held: Selection, rows: list[int], columns: list[int]) -> None:
    one_cell = len(held.queries) == len(held.keys) == 1 and bool(rows and columns)
    one_cell &= max((*held.queries, *held.keys), default=0) < view.trace.n_real  # padding has no place there
    plain = options.average == "none" and not options.words and options.special == "show"
    if one_cell and plain and st.button("How this weight is made", icon=":material/calculate:"):
        selection.go("softmax")
        st.switch_page("pages/forward_pass/page.py")
    if held.queries or held.keys:
        st.button("Clear selection", icon=":material/close:", on_click=head_options.hold, args=((), ()))


def _bars(rows: list[tuple[str, int | str, float]]) -> None:
    """Label, position and weight, with a bar from 0 to 1, or to the largest of a sum."""
    most = max(1.0, *(row[2] for row in rows)) if rows else 1.0
    st.dataframe(
        {"token": [row[0] for row in rows], "position": [row[1] for row in rows], "weight": [row[2] for row in rows]},
        hide_index=True,
        width="stretch",
        height="content",
        column_config={
            "token": st.column_config.TextColumn("Token"),
            "position": st.column_config.Column("Position", width="small"),
            "weight": st.column_config.ProgressColumn("Weight", min_value=0.0, max_value=most, format="%.3g"),
        },
    )


# --- sinks -----------------------------------------------------------------------------------------------------------


def sink_note(view: View, options: Options) -> None:
    """Where the head is a sink: what that is, and where to see what it moves."""
    found = None if options.average != "none" else _sink(view)
    if found is None:
        return
    names = " and ".join(token_names.bold(view.trace.labels, place) for place in found.tokens)
    ordinary = found.kind == "opening" and not tokens.is_special(view.trace)[0]
    where = f"the first token, {names}" if ordinary else names
    with st.container(border=True, gap="small"):
        st.markdown(
            f":material/vertical_align_bottom: **A sink.** {found.share:.0%} of the attention of L{view.layer} "
            f"H{view.head} rests on {where} ({found.uniform:.0%} if spread evenly). No error: a row must sum to 1, "
            "so a head with nothing to fetch looks there, a no-op (Clark et al. 2019); what it fetches from there is "
            "often a short vector that moves little (Kobayashi et al. 2020)."
        )
        _link_beyond()


#: The page that weighs attention by what it moves.
BEYOND = "pages/beyond_weights/page.py"


def _link_beyond() -> None:
    try:
        st.page_link(BEYOND, label="What this head moves: Beyond the weight", icon=":material/scale:")
    except StreamlitAPIException:  # an app without that page
        st.caption("The page Queries, keys, values shows the vectors themselves.")


def _sink(view: View) -> Sink | None:
    threshold = head_measures.thresholds().special
    what = ("sink", view.layer, view.head, threshold)
    layer, head, whole = view.layer, view.head, head_options.is_whole(view)
    return cache.derived(
        view.model,
        view.text,
        view.pair,
        what,
        lambda trace: sinks.sink(
            trace, layer, head, threshold, None if whole else head_options.overview(view, layer, head).received
        ),
    )
