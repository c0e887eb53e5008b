"""The table of all heads and their measures."""

import pandas as pd
import streamlit as st

from encoder.figures.numbers import three_digits
from encoder.measure.head_definitions import BY_NAME as MEASURES
from encoder.measure.head_definitions import Definition, own
from encoder.trace import tokens
from pages.core.view import View, head_measures, selection
from pages.core.widgets import Export, title
from pages.core.words import gestures
from pages.heads.params import COLUMNS as GROUP_TITLES
from pages.heads.params import AllHeads
from pages.heads.types.heads import Heads, thresholds_in_python
from pages.state import state

#: Group of columns -> measure -> a short column name, from left to right; the column's help has the full title. "cls"
#: and "sep" are called as this model's tokens are.
GROUPS = {
    "spread": {
        "entropy": "Entropy", "relative_entropy": "Norm. ent.", "maximum": "Max.", "strong": "Strong",
        "distance": "Dist.",
    },
    "position": {
        "self": "Self", "previous": "Prev.", "next": "Next", "top_self": "Top self", "top_previous": "Top prev.",
        "top_next": "Top next",
    },
    "tokens": {
        "cls": "Opening", "sep": "Closing", "punctuation": "Punct.", "same_token": "Same", "own_word": "Word",
    },
}  # fmt: skip
GROUPS["own"] = {one.name: one.title for one in own()}
COLUMNS = {measure: name for group in GROUPS.values() for measure, name in group.items()}
#: Width of a column of numbers in pixels, by the length of its name.
NARROW, WIDE = 63, 82
FORMATS = {"share": "%.3f", "nats": "%.2f", "tokens": "%.1f", "number": "%.3f"}
UNITS = {"share": "a share, 0 to 1", "nats": "in nats", "tokens": "in tokens", "number": "a number"}
#: Height of the table in pixels.
HEIGHT = 470


def frame(found: Heads) -> pd.DataFrame:
    """One row a head: its name, its types, its measures; only those that the filter keeps, indexed by number."""
    every = found.measures.table()
    every.insert(0, "name", [f"L{layer} H{head}" for layer, head in every[["layer", "head"]].to_numpy()])
    every.insert(1, "head_types", [found.badge(number) for number in range(len(every))])
    return every.iloc[found.shown()]


def draw(view: View, found: Heads) -> Export:
    """The sortable table; a click on a row selects its head."""
    rows = frame(found)
    if rows.empty:
        _say_that_none_is(found)
    else:
        _draw(view, found, rows)
    return exported(view, found)


def answer(found: Heads) -> str:
    """The heads whose attention is the most concentrated and the most even."""
    entropy = found.measures["relative_entropy"]
    ends = [divmod(int(place), found.n_heads) for place in (entropy.argmin(), entropy.argmax())]
    least, most = (f"**L{layer} H{head}** (normalised entropy {entropy[layer, head]:.3f})" for layer, head in ends)
    return f"Most concentrated attention: {least}; most even: {most}."


def exported(view: View, found: Heads) -> Export:
    """All measures, or those of the heads of the wanted type."""

    def table() -> pd.DataFrame:
        rows = frame(found).drop(columns="name")
        first = ["layer", "head", "head_types"]
        return rows[[*first, *rows.columns.drop(first)]]

    lines = f"from encoder.measure import heads\nmeasures = {found.measured()}.table()"
    if found.wanted:
        lines = (
            f"from encoder.measure import head_types, heads\nmeasured = {found.measured()}\n"
            f"named = head_types.table(measured{thresholds_in_python()}){found.only_wanted('named')}\n"
            'measures = measured.table().merge(named[["layer", "head"]])'
        )
    settings = found.settings("table")
    return Export(view, title(view, "Measures of all heads"), table, lines=lines, settings=settings, verb="measure")


def _draw(view: View, found: Heads, rows: pd.DataFrame) -> None:
    known = head_measures.offered(view.trace)
    titles = {name: title for name, title in GROUP_TITLES.items() if known.keys() & GROUPS[name].keys()}
    group = state.segmented(AllHeads.columns, "Columns", titles)
    st.dataframe(
        rows.drop(columns=["layer", "head"]),
        hide_index=True,
        width="stretch",
        height=min(HEIGHT, 38 + 35 * len(rows)),
        column_config={
            "name": st.column_config.TextColumn("Head", pinned=True, width=66),
            "head_types": st.column_config.TextColumn("Types", pinned=True, width=62),
            **{one.name: _column(one, _column_name(view, one.name)) for one in known.values()},
        },
        column_order=["name", "head_types", *(name for name in GROUPS[group] if name in known)],
        key="find-table",
        on_select=lambda: _open_row(found, list(rows.index)),
        selection_mode="single-row",
        alt="One row for each head, one column for each measure.",
    )
    st.caption(_about(found, rows))
    badges = {one.badge for one in found.types_present()}
    if badges:
        st.caption(head_measures.badge_legend(view.trace, badges))


def _column_name(view: View, measure: str) -> str:
    """A column's name; for special tokens the token itself, where it is short."""
    if measure not in ("cls", "sep"):
        return COLUMNS[measure]
    if measure == "sep" and view.trace.kind != "text":
        return "Other"
    there = tokens.special_position(view.trace, measure)  # type: ignore[arg-type]
    token = next((label for label, one in zip(view.trace.labels, there, strict=True) if one), "")
    return token if 0 < len(token) <= 5 else COLUMNS[measure]


def _column(one: Definition, name: str) -> object:
    return st.column_config.NumberColumn(
        name,
        help=f"**{one.title}** ({UNITS[one.unit]}). {one.about}",
        format=FORMATS[one.unit],
        width=NARROW if len(name) <= len("Entropy") else WIDE,
    )


def _about(found: Heads, rows: pd.DataFrame) -> str:
    text = gestures.invitation("Select a column's name to sort, a row to select its head.")
    normalised = rows["relative_entropy"]
    if normalised.isna().any():
        return text
    low, high = normalised.idxmin(), normalised.idxmax()
    return (
        f"{len(rows)} heads, {found.measures.n_queries:,} queries. Normalised entropy (uniform attention: 1): lowest "
        f"{rows['name'][low]}, {three_digits(normalised[low])}; highest {rows['name'][high]}, "
        f"{three_digits(normalised[high])}. {text}"
    )


def _open_row(found: Heads, numbers: list[int]) -> None:
    chosen = st.session_state["find-table"]["selection"]["rows"]
    if chosen and chosen[0] < len(numbers):
        selection.open_head(*divmod(int(numbers[chosen[0]]), found.n_heads))


def _say_that_none_is(found: Heads) -> None:
    wanted = found.types[found.wanted]
    thresholds = head_measures.thresholds()
    rules = " or ".join(
        f"“{MEASURES[measure].title}” above {getattr(thresholds, field):g}" for measure, field, _ in wanted.rules
    )
    st.info(f"{wanted.title}: no head has {rules} here. Lower the threshold to find the nearest head.")
