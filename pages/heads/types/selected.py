"""The selected head: its types, its map, and links to other pages."""

import streamlit as st

from encoder.maps import EXACT_TOKENS
from pages.core.corpora import corpus_line
from pages.core.view import View
from pages.core.widgets import answer
from pages.heads import map, options
from pages.heads.types.heads import Heads, reason
from pages.state import links


def draw(view: View, found: Heads) -> None:
    """The selected head next to the table or the maps."""
    st.header(f"L{view.layer} H{view.head}", anchor=False)
    with answer.area():
        _map(view)
    st.markdown(_types(view, found))
    corpus_line.draw(view)
    links.button("heads", "Open this head", "open_in_full", "open-head", {"all_heads": ""}, type="primary")


def _map(view: View) -> None:
    """The head's map as on the small maps' page, with the line above it; none of a long text."""
    trace = view.trace
    if trace.n_tokens <= EXACT_TOKENS:
        answer.draw_row(view, lambda row: {"": trace.attention(view.layer, view.head, row)}, linked=True)
        map.draw_map(view, options.one_head(view), key="find-head")


def _types(view: View, found: Heads) -> str:
    """The types of the head with the numbers that show them, or its entropy and largest weight."""
    findings = found.findings(view.layer * found.n_heads + view.head)
    if findings:
        return "  \n".join(
            f"**{found.types[finding.head_type.name].title}**: {found.types[finding.head_type.name].sentence} "
            f"{reason(view, finding)}"
            for finding in findings
        )
    place = view.layer, view.head
    return (
        f"No type by these thresholds. Entropy: {found.measures['entropy'][place]:.2f} nats, normalised "
        f"{found.measures['relative_entropy'][place]:.2f}. Mean largest weight: {found.measures['maximum'][place]:.2f}."
    )
