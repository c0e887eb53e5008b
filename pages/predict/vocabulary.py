"""SPLADE: the weight of each word of the vocabulary for the sentence, and the token that gave it."""

import pandas as pd
import streamlit as st

from encoder.classify import SparseVector, sparse_vector
from encoder.figures.token_bars import word_bars
from encoder.model.pooling import SparseConfig
from pages.components import plot
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.widgets import Export, title
from pages.core.words import errors_said, opening, plain
from pages.predict import prediction

#: Words with a bar.
SHOWN = 20


def show(view: View) -> None:
    """The heaviest words as bars, the tokens that gave them, and what the weights mean."""
    view = edited.applied(view)
    edited.mark(view)
    opening("Which words of the vocabulary describe this sentence, and which token gives each its weight?")
    found: SparseVector | None = None
    with errors_said(st.info, icon=":material/edit:"):
        found = view.derived("sparse vector", lambda trace: sparse_vector(view.loaded, trace))
    if found is None:
        return
    words, weights = [prediction.readable(word) for word in found.words[:SHOWN]], found.weights[:SHOWN]
    labels = [view.trace.labels[source] for source in found.sources[:SHOWN]]
    left, right = st.columns([3, 2], gap="medium")
    with left:
        plot(
            word_bars(words, weights, measure="weight"),
            key="sparse-words",
            height=70 + 24 * len(words),
            mode_bar=False,
            alt=f"The {len(words)} heaviest of {len(found.ids):,} words, with their weights.",
        )
    with right:
        rows = pd.DataFrame({"word": words, "weight": weights, "from": labels, "share": found.shares[:SHOWN]})
        st.dataframe(rows, hide_index=True, height=70 + 24 * len(words))
    how = view.loaded.sparse
    formula = "log(1 + log(1 + relu(logit)))" if how is not None and how.twice else "log(1 + relu(logit))"
    pooled = {"max": "the largest", "sum": "the sum"}[(how or SparseConfig()).pooling]
    trained = (
        "" if how is not None else f" {plain(view.loaded.name)} was not trained for it, so most words have a weight."
    )
    st.caption(
        f"{len(found.ids):,} words have a weight. A weight is {pooled} over the tokens of {formula} (Formal et al. "
        f"2021).{trained}"
    )
    frame = pd.DataFrame({"id": found.ids, "word": found.words, "weight": found.weights, "token": found.sources})
    lines = "from encoder.classify import sparse_vector\nsparse_vector(model, trace)"
    Export(view, title(view, "Vocabulary words"), lambda: frame, lines=lines).draw()
