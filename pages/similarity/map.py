"""The map of all pairs of tokens; above it the pair that a click selects, and the check of the sum."""

import streamlit as st

from encoder.figures.pairs import similarity_heatmap
from encoder.similarity import TOLERANCE, Attribution, Cells
from pages.components import on_click, plot
from pages.core.widgets import answer
from pages.core.words import about, formulas, table, token_names
from pages.similarity.params import Params
from pages.state import state

#: Pairs in the list of the largest.
LARGEST = 5


def draw(found: Attribution, cells: Cells, params: Params) -> None:
    """The answer, the map and the check of its sum."""
    selected = cells.place(0, params.token_a), cells.place(1, params.token_b)
    clear = None if selected == (None, None) else _clear
    with answer.area():
        answer.draw(*_answer(cells, selected), clear=clear)
        plot(
            similarity_heatmap(cells.matrix, *cells.labels, selected=selected),
            key="similarity-map",
            alt="Map of all pairs of tokens: what each pair adds to the similarity of the two sentences, around 0.",
            on_event=on_click(
                row=lambda row: _select(cells, 0, row),
                column=lambda column: _select(cells, 1, column),
                clear=_clear,
            ),
        )
    check(found)


def _select(cells: Cells, side: int, place: int) -> None:
    groups = cells.groups[side]
    if place < len(groups):
        state.put((Params.token_a, Params.token_b)[side], groups[place][0])


def _clear() -> None:
    state.put(Params.token_a, None)
    state.put(Params.token_b, None)


def _answer(cells: Cells, selected: tuple[int | None, int | None]) -> tuple[str, str]:
    """The selected pair, or a whole row or column; and the largest pairs."""
    row, column = selected
    n_cells, total = cells.matrix.size, float(cells.matrix.sum())
    largest = f"Largest pairs, A – B: {'; '.join(_largest(cells))}."
    if row is not None and column is not None:
        value = float(cells.matrix[row, column])
        rank = f"{answer.ordinal(cells.rank(row, column))} of {n_cells:,}"
        return f"{_pair(cells, row, column)}: **{_signed(value)}** ({rank}). {_share(value, total)}", largest
    if row is not None or column is not None:
        side = 0 if row is not None else 1
        place = row if row is not None else column
        assert place is not None
        value = float(cells.matrix.sum(axis=1 - side)[place])
        name = token_names.bold(cells.labels[side], place)
        all_pairs = f"{name} of sentence {'AB'[side]} with all of sentence {'BA'[side]}"
        return f"{all_pairs}: **{_signed(value)}**. {_share(value, total)}", largest
    if not cells.matrix.any():
        return "No pair adds anything: a sentence without words equals its reference.", ""
    return "Select a cell for its pair.", largest


def _largest(cells: Cells) -> list[str]:
    order = (-cells.matrix).ravel().argsort(kind="stable")[:LARGEST]
    places = [divmod(int(place), cells.matrix.shape[1]) for place in order]
    return [f"{_pair(cells, *place)} {_signed(float(cells.matrix[place]))}" for place in places]


def _pair(cells: Cells, row: int, column: int) -> str:
    return f"{token_names.bold(cells.labels[0], row)} – {token_names.bold(cells.labels[1], column)}"


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + formulas.number(value)


def _share(value: float, total: float) -> str:
    """A share means little where the sum is almost 0."""
    return f"Share of the sum: {value / total:.1%}." if total > 0.01 else ""


def check(found: Attribution) -> None:
    """The terms that the cells must add up to, their sum, and its error."""
    number = formulas.number
    rows = [("cos(A, B)", f"**{number(found.cosine, 4)}**")]
    if not found.is_exact:
        names = ("− cos(A, reference of B)", "− cos(reference of A, B)", "+ cos(both references)")
        for name, term in zip(names, found.references, strict=True):
            rows.append((name, f"{name[0]} {number(term, 4) if term >= 0 else f'({number(term, 4)})'}"))
        rows.append(("= what the cells must add up to", number(found.expected_sum, 4)))
    rows.append(("Sum of all cells", f"**{number(float(found.matrix.sum()), 4)}**"))
    error = f"{found.error:.1e}" if found.error < 5e-5 else number(found.error, 4)
    rows.append(("Error of the sum", error + ("" if found.is_exact else f", {found.steps} steps")))
    if found.error > TOLERANCE:
        st.warning(
            f"The cells miss what they must add up to by {number(found.error, 3)}: choose more steps, or “auto”.",
            icon=":material/rule:",
        )
    st.markdown(table(("The check", "value"), rows))
    if found.is_exact:
        st.caption(
            "Exact, without reference and path. But these vectors already contain information from the whole sentence."
        )
    else:
        mixed = f"Before layer {found.layer}, vectors already contain information from other tokens."
        reference = {"pad": "its words replaced by padding", "zero": "all of its vectors set to 0"}[found.reference]
        st.caption(about.text(__file__, "What the check covers", mixed=mixed * bool(found.layer), reference=reference))
