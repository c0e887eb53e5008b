"""Pairs of words that add up to the score."""

import numpy as np
import streamlit as st

from encoder.figures.pairs import similarity_heatmap
from encoder.scores import Pairs
from pages.components import plot
from pages.core.widgets import answer
from pages.core.words import number, plain, references
from pages.texts.subject import Subject, largest_first

#: Pairs that the answer names.
LARGEST = 5
#: Up to so many rows the map is only as high as they need, so that the names of its columns are on the first screen:
#: pixels of a row, and of axes and colour bar.
FEW_ROWS, ROW, AROUND = 12, 28, 130
#: The least height of the map, pixels.
LEAST = 300


def draw(subject: Subject) -> None:
    """The largest pairs, the map, and the sum next to the score."""
    why = subject.why
    split: Pairs | None = subject.worked("pairs", lambda: why.split, "Split the score among pairs")
    if split is None or not split.matrix.size:
        st.info(f"A {why.kind} with an empty text has no pairs of words: type a word in each text.")
        return
    n_rows, n_columns = split.matrix.shape
    named = [divmod(place, n_columns) for place in largest_first(np.abs(split.matrix).ravel())[:LARGEST]]
    with answer.area():
        answer.draw(
            "Largest pairs: "
            + "; ".join(
                f"**{plain(split.labels[0][row])}** – **{plain(split.labels[1][column])}** "
                f"{number(float(split.matrix[row, column]))}"
                for row, column in named
            )
            + "."
        )
        low = n_rows <= FEW_ROWS
        plot(
            similarity_heatmap(
                split.matrix, *split.labels, title=f"part of the {why.kind}", axes=("query", "text"), square=not low
            ),
            key="texts-pairs",
            height=max(AROUND + ROW * n_rows, LEAST) if low else None,
            alt="Map of all pairs of words: what each pair adds to the score, around 0.",
        )
    spread = float(np.median(split.error))
    st.markdown(
        f"Sum of all cells: **{number(float(split.matrix.sum()), 4)}** = {why.kind} **{number(why.score, 4)}**."
        + (f" Median standard error of a cell: {number(spread, 4)}." if spread else " The split is exact.")
    )
    if why.kind == "cosine":
        references.caption(
            f"{split.method} (Shapley 1953; Lundberg and Lee 2017). A text without words counts as no vector. Assumed: "
            "the vector of any set of words tells something about the text."
        )
    elif why.kind == "cross-encoder":
        references.caption(
            f"{split.method} (Shapley 1953). The last row and column: words of one text with nothing of the other. "
            "Assumed: the score of any set of words tells something about the texts."
        )
    else:
        source = " (Khattab and Zaharia 2020)" if why.kind == "MaxSim" else ""
        references.caption(f"The cells are {split.method}{source}.")
