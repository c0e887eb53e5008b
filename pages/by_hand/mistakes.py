"""Spot the mistakes: statements of teaching notes next to the results of their own formulas."""

import streamlit as st

from encoder.explain.by_hand import Claim, claims
from pages.core.words import formulas, plain

#: The first column's heading: where a line's numbers are from.
_SOURCE = "source"


def show() -> None:
    """Every statement, with the number of those that agree."""
    stated = claims()
    numbers = [agrees for claim in stated for row in claim.agreeing for agrees in row]
    st.markdown(
        f"Statements that agree: {sum(claim.agrees for claim in stated)} of {len(stated)}. "
        f"Numbers that agree: {sum(numbers)} of {len(numbers)}."
    )
    for claim in stated:
        _compare(claim)


def _compare(claim: Claim) -> None:
    """A statement, its numbers next to the computed ones, and the reason. One that agrees is closed at first."""
    verdict = ":green-badge[:material/check: agrees]" if claim.agrees else ":red-badge[:material/close: differs]"
    with st.expander(f"**{claim.title}** {verdict}", expanded=not claim.agrees):
        st.markdown(plain(claim.statement))
        left, right = st.columns([1, 1], gap="medium")
        with left:
            _numbers(claim)
        with right:
            if claim.formula:
                formulas.show(claim.formula)
            st.markdown(plain(claim.reason))


def _numbers(claim: Claim) -> None:
    """Two lines for each row, from the notes and computed; a mark tells whether a number of the notes agrees."""
    lines: dict[str, list[str]] = {_SOURCE: []}
    for row, label in enumerate(claim.labels or ("",) * len(claim.notes)):
        prefix = f"{label}: " if label else ""
        lines[_SOURCE] += [f"{prefix}notes", f"{prefix}computed"]
        columns = claim.columns or tuple(str(column) for column in range(len(claim.notes[row])))
        for column, name in enumerate(columns if len(columns) > 1 else ("number",)):
            mark = "✓" if claim.agreeing[row][column] else "✗"
            noted = f"{claim.notes[row][column]:.{claim.digits}f}".replace("-", "−")
            lines.setdefault(name, []).extend((f"{noted} {mark}", digits(claim.computed[row][column], claim.digits)))
    st.dataframe(
        lines,
        hide_index=True,
        width="stretch",
        height=38 + 35 * len(lines[_SOURCE]),
        column_config={_SOURCE: st.column_config.TextColumn(pinned=True)},
    )


def digits(value: float, least: int) -> str:
    """A number with at most five decimals, and at least as many as in the notes."""
    text = f"{value:.5f}"
    while text.endswith("0") and len(text.split(".")[1]) > least:
        text = text[:-1]
    return text.rstrip(".").replace("-", "−")
