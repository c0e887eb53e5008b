"""Find heads: the table, the strips by role, the map of heads, and the head that is selected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from encoder import figures
from encoder.figures.heads import HeadPoints, head_points
from encoder.figures.numbers import three_digits
from encoder.measure import roles, tokens
from encoder.measure.definitions import HEAD_MEASURES, Definition
from encoder.measure.heads import HeadMeasures
from encoder.measure.roles import BY_NAME, ROLES, Finding, Role
from encoder.measure.similarity import HeadPlane, HeadSimilarity, head_plane, head_similarity
from pages.components import head_grid, plot
from pages.core import cache, head_measures, map_window, sidebar, small_maps
from pages.core.view import View, state

#: The columns from left to right, each with a name that fits; the full title stands in its help. On a projector of
#: 1280 pixels the first seven are seen at once. "cls" and "sep" are called as this model's tokens are.
COLUMNS = {
    "entropy": "Entropy", "distance": "Dist.", "self": "Self", "previous": "Prev.", "next": "Next", "cls": "Opening",
    "sep": "Closing", "relative_entropy": "of max.", "maximum": "Max.", "strong": "Strong", "punctuation": "Punct.",
    "same_token": "Same", "own_word": "Word", "top_previous": "Top prev.", "top_self": "Top self",
    "top_next": "Top next",
}  # fmt: skip
#: Pixels: of a column of numbers, by the length of its name.
NARROW, WIDE = 63, 82
FORMATS = {"share": "%.3f", "nats": "%.2f", "tokens": "%.1f"}
#: Rows of the table that are seen at once.
TABLE_HEIGHT = 470
#: Of a longer text the maps of one head are not drawn beside the table.
SMALL_MAP_TOKENS = map_window.EXACT_TOKENS


@dataclass(frozen=True)
class Heads:
    """The measures of all heads, their roles by the thresholds of the URL, and which role is asked for."""

    measures: HeadMeasures
    roles: tuple[tuple[tuple[Finding, ...], ...], ...]
    wanted: str

    @classmethod
    def of(cls, view: View) -> Heads:
        measures = head_measures.measures(view, state.get("queries"))
        return cls(measures, roles.roles(measures, head_measures.thresholds()), state.get("role"))

    @property
    def n_heads(self) -> int:
        """H."""
        return len(self.roles[0])

    def numbers(self) -> list[int]:
        """Numbers l H + h of the heads that the role filter leaves."""
        every = range(len(self.roles) * self.n_heads)
        return [number for number in every if not self.wanted or self.wanted in self.names(number)]

    def with_role(self, role: str) -> list[int]:
        """Numbers of the heads that have a role."""
        return [number for number in range(len(self.roles) * self.n_heads) if role in self.names(number)]

    def findings(self, number: int) -> tuple[Finding, ...]:
        """What a head was found to be."""
        layer, head = divmod(number, self.n_heads)
        return self.roles[layer][head]

    def names(self, number: int) -> list[str]:
        """The roles of a head by their short names."""
        return [finding.role.name for finding in self.findings(number)]

    def badge(self, number: int) -> str:
        """All badges of a head, or nothing."""
        return ", ".join(finding.role.badge for finding in self.findings(number))


# --- controls --------------------------------------------------------------------------------------------------------


def role_filter() -> None:
    """Only heads of one role."""
    titles = {"": "Any role"} | {role.name: role.title for role in ROLES}
    state.bound(st.selectbox, "role", "Role", list(titles), format_func=titles.get, width=260)


_THRESHOLDS = {
    "role_position": ("Previous, next, self: mean weight above", 1.0, "Clark et al. 2019's code: 0.5."),
    "role_top": ("… or largest weight there, share of queries", 1.0, "Voita et al. 2019, section 5.1: 0.9."),
    "role_special": ("Sinks: mean weight above", 1.0, "Clark et al. 2019's code: 0.6."),
    "role_broad": (
        "Broad: entropy above, nats",
        10.0,
        "Clark et al. 2019's code: 3.8. Out of reach below 45 tokens, as ln 45 = 3.8.",
    ),
    "role_same": ("Same word: mean weight above", 1.0, "Chosen here."),
    "strong": ("A weight is strong above", 1.0, "For the measure “strong weights”. Chosen here."),
}


def threshold_controls(place: DeltaGenerator) -> None:
    """From where on a head has a role, and whose rows are averaged over."""
    for name, (label, most, source) in _THRESHOLDS.items():
        state.bound(
            place.number_input, name, label, min_value=0.0, max_value=most, step=0.05, format="%.2f", help=source
        )  # fmt: skip
    state.bound(
        place.segmented_control,
        "queries",
        "Averaged over",
        ["all", "content"],
        required=True,
        format_func={"all": "all tokens", "content": "words only"}.get,
        help="Whose rows count: those of all real tokens, as in Clark et al. 2019, or without [CLS] and [SEP].",
    )
    place.button("Defaults", icon=":material/restart_alt:", on_click=_defaults)


def _defaults() -> None:
    for name in (*_THRESHOLDS, "queries"):
        state.put(name, state.params[name].default)


def _choose(found: Heads, number: int) -> None:
    sidebar.open_head(*divmod(number, found.n_heads))


# --- the table -------------------------------------------------------------------------------------------------------


def frame(found: Heads) -> pd.DataFrame:
    """One row a head: its name, its roles, its measures; those that the filter leaves, numbered l H + h."""
    everything = found.measures.table()
    everything.insert(0, "name", [f"L{layer} H{head}" for layer, head in everything[["layer", "head"]].to_numpy()])
    everything.insert(1, "roles", [found.badge(number) for number in range(len(everything))])
    return everything.iloc[found.numbers()]


def table(view: View, found: Heads) -> None:
    """Sortable, downloadable; a click on a row selects its head."""
    rows = frame(found)
    if rows.empty:
        _nobody(found)
        return
    st.dataframe(
        rows.drop(columns=["layer", "head"]),
        hide_index=True,
        width="stretch",
        height=min(TABLE_HEIGHT, 38 + 35 * len(rows)),
        column_config={
            "name": st.column_config.TextColumn("Head", pinned=True, width=66),
            "roles": st.column_config.TextColumn("Roles", pinned=True, width=62),
            **{one.name: _column(one, _column_name(view, one.name)) for one in HEAD_MEASURES},
        },
        column_order=["name", "roles", *COLUMNS],
        key="find-table",
        on_select=lambda: _take_row(found, list(rows.index)),
        selection_mode="single-row",
        alt="One row a head, one column a measure.",
    )
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.caption(_about_table(found, rows))
        st.download_button(
            "CSV", lambda: rows.to_csv(index=False), "heads.csv", "text/csv", icon=":material/download:",
            on_click="ignore", help="The rows shown, all digits.", width="content",
        )  # fmt: skip


def _column_name(view: View, measure: str) -> str:
    """What a column is called; those of special tokens by the tokens themselves, where they are short."""
    if measure not in ("cls", "sep"):
        return COLUMNS[measure]
    there = tokens.special_position(view.trace, measure)
    own = next((label for label, one in zip(view.trace.labels, there, strict=True) if one), "")
    return own if 0 < len(own) <= 5 else COLUMNS[measure]


def _column(one: Definition, name: str) -> object:
    unit = {"share": "a share, 0 to 1", "nats": "in nats", "tokens": "in tokens"}[one.unit]
    return st.column_config.NumberColumn(
        name,
        help=f"**{one.title}** ({unit}). {one.sentence}\n\n$${one.formula}$$\n\nSource: {one.source}.",
        format=FORMATS[one.unit],
        width=NARROW if len(name) <= len("Entropy") else WIDE,
    )


def _about_table(found: Heads, rows: pd.DataFrame) -> str:
    low, high = rows["entropy"].idxmin(), rows["entropy"].idxmax()
    measures = found.measures
    return (
        f"{len(rows)} heads, over {measures.n_queries:,} queries. The narrowest is {rows['name'][low]} with "
        f"{three_digits(rows['entropy'][low])} nats, the broadest {rows['name'][high]} with "
        f"{rows['entropy'][high]:.2f}; uniform attention over {measures.n_tokens:,} tokens has "
        f"{np.log(measures.n_tokens):.2f}. Click a "
        "column's name to sort, a row to select its head."
    )


def _take_row(found: Heads, numbers: list[int]) -> None:
    chosen = st.session_state["find-table"]["selection"]["rows"]
    if chosen and chosen[0] < len(numbers):
        _choose(found, int(numbers[chosen[0]]))


def _nobody(found: Heads) -> None:
    role = BY_NAME[found.wanted]
    rules = " or ".join(
        f"“{_title(measure)}” above {getattr(head_measures.thresholds(), field):g}" for measure, field, _ in role.rules
    )
    st.info(
        f"No head is a {role.title.lower()} on this sentence: none has {rules}. Lower the threshold to see the nearest."
    )


def _title(measure: str) -> str:
    return next(one.title for one in HEAD_MEASURES if one.name == measure)


# --- by role ---------------------------------------------------------------------------------------------------------


def strips(view: View, found: Heads) -> None:
    """For each role the small maps of its heads."""
    shown = [role for role in ROLES if not found.wanted or role.name == found.wanted]
    empty = []
    for role in shown:
        numbers = found.with_role(role.name)
        if numbers:
            _strip(view, found, role, numbers)
        else:
            empty.append(role.title.lower())
    if empty:
        st.caption(f"On this sentence none is a {', '.join(empty)}.")


def _strip(view: View, found: Heads, role: Role, numbers: list[int]) -> None:
    heads = [divmod(number, found.n_heads) for number in numbers]
    layers = sorted({layer for layer, _ in heads})
    st.markdown(f"**{role.title}** · {len(heads)}  \n{role.sentence}")
    head_grid(
        np.stack([small_maps.of_layer(view.model, view.text, view.pair, layer) for layer in layers]),
        layers=layers,
        heads=found.n_heads,
        order=heads,
        selected=(view.layer, view.head),
        key=f"strip-{role.name}",
        alt=f"{role.title}s: " + ", ".join(f"L{layer} H{head}" for layer, head in heads) + ".",
        colorscale=figures.thumbnails_lut(view.colours),
        on_event=lambda event: event["event"] == "open" and sidebar.open_head(event["layer"], event["head"]),
    )


# --- the map of heads ------------------------------------------------------------------------------------------------


def similarity(view: View) -> HeadSimilarity:
    """How alike all heads attend, kept for all sessions; with progress where it takes its time."""
    bar = st.progress(0.0, "Comparing all heads with one another …") if view.trace.n_tokens > 256 else None

    def make(trace) -> HeadSimilarity:
        return head_similarity(
            trace, progress=bar and (lambda share: bar.progress(share, "Comparing all heads with one another …"))
        )

    try:
        return cache.derived(view.model, view.text, view.pair, ("similarity",), make)
    finally:
        if bar is not None:
            bar.empty()


def head_map(view: View, found: Heads) -> tuple[go.Figure, HeadPlane]:
    """Heads as points: near where they attend alike. What is drawn comes back, and the points."""
    by = state.bound(
        st.segmented_control, "points", "Colour", ["layer", "role"], required=True, format_func=str.title
    )  # fmt: skip
    alike = similarity(view)
    with st.spinner("Laying the heads out …", show_time=False):
        plane: HeadPlane = cache.derived(
            view.model, view.text, view.pair, ("plane of heads",), lambda _: head_plane(alike)
        )
    left = set(found.numbers())
    drawn = head_points(
        plane.xy,
        found.n_heads,
        roles=None if by == "layer" else {role.title: found.with_role(role.name) for role in _present(found)},
        badges=[found.badge(number) for number in range(len(plane.xy))],
        selected=(view.layer, view.head),
        faded=[number for number in range(len(plane.xy)) if number not in left],
        colours=view.colours,
    )
    plot(
        drawn.figure,
        key="head-map",
        alt=f"{len(plane.xy)} heads as points, near where they attend alike; coloured by {by}.",
        height=470,
        on_event=lambda event: _take_point(event, drawn),
    )
    st.caption(_about_map(view, alike, plane))
    return drawn.figure, plane


def _present(found: Heads) -> list[Role]:
    return [role for role in ROLES if found.with_role(role.name)]


def _take_point(event: dict, drawn: HeadPoints) -> None:
    if event.get("event") == "click" and event["axis"] == "point":
        head = drawn.at(event["trace"], event["point"])
        if head is not None:
            sidebar.open_head(*head)


def _about_map(view: View, alike: HeadSimilarity, plane: HeadPlane) -> str:
    nearest = ", ".join(
        f"L{layer} H{head} ({value:.3f})" for layer, head, value in alike.nearest(view.layer, view.head)
    )
    text = (
        "Near means alike: the Jensen–Shannon divergence of two heads' rows, averaged over the queries, 0 (the "
        "same) to ln 2 = 0.693 (nothing in common), brought into a plane by multidimensional scaling (Clark et "
        f"al. 2019, section 6). The plane cannot keep all distances: its stress is {plane.stress:.2f}, 0 would be "
        "perfect."
    )
    if nearest:
        text += f" By the divergence itself, L{view.layer} H{view.head} is most like {nearest}."
    if alike.n_rows < alike.n_tokens:
        text += f" Of this long text {alike.n_rows:,} of {alike.n_tokens:,} rows were compared, evenly spaced."
    return text


# --- the selected head -----------------------------------------------------------------------------------------------


def selected_head(view: View, found: Heads) -> None:
    """The head that is looked at: what it is, its map, and the ways on."""
    number = view.layer * found.n_heads + view.head
    st.subheader(f"L{view.layer} H{view.head}", anchor=False)
    st.markdown(_what_it_is(found, number))
    trace = view.trace
    if trace.n_tokens <= SMALL_MAP_TOKENS:
        figure = figures.attention_heatmap(
            trace.attention(view.layer, view.head).cpu(),
            trace.labels,
            colours=view.colours,
            selected=(view.i, view.j),
        )
        figure.update_traces(colorbar_len=150)  # the column is narrow
        plot(
            figure,
            key="find-head",
            alt=f"Attention map of layer {view.layer}, head {view.head}.",
            height=380,
            selected=(view.i, view.j),
            on_event=sidebar.select_from,
        )
    with st.container(horizontal=True):
        if st.button("Open on the Heads page", icon=":material/open_in_full:", type="primary"):
            st.switch_page("pages/heads/page.py")
        if st.button("What it moves", icon=":material/balance:"):
            state.put("beyond", "moves")
            st.switch_page("pages/beyond_weights/page.py")


def _what_it_is(found: Heads, number: int) -> str:
    """The roles of a head with the numbers that show them, or its most telling measure."""
    findings = found.findings(number)
    layer, head = divmod(number, found.n_heads)
    if findings:
        return "  \n".join(
            f"**{finding.role.title}**: {finding.role.sentence} {_reason(finding)}" for finding in findings
        )
    entropy, most = found.measures["entropy"][layer, head], found.measures["maximum"][layer, head]
    return (
        f"No role by these thresholds. Its entropy is {entropy:.2f} nats; the largest weight of a query is "
        f"{most:.2f} on average."
    )


def _reason(finding: Finding) -> str:
    shown = f"{finding.value:.2f}"
    return f"“{_title(finding.measure)}” is {shown}, the threshold {finding.threshold:g}."
