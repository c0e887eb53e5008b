"""Question answering: the spans of the second sentence that the model finds most probable as the answer."""

import pandas as pd
import streamlit as st

from encoder import figures
from encoder.classify import Span, answers
from pages.components import plot
from pages.core.inputs import edited
from pages.core.view import View
from pages.core.widgets import Export, title
from pages.core.words import about, errors_said, opening

#: Answers with a bar.
SHOWN = 8


def show(view: View) -> None:
    """The most probable answers as bars, with their tokens."""
    view = edited.applied(view)
    edited.mark(view)
    opening(
        "Which part of the passage answers the question? The sentence asks, and the second sentence is the passage."
    )
    found: list[Span] = []
    with errors_said(st.info, icon=":material/edit:"):
        found = view.derived("answers", lambda trace: answers(view.loaded, trace, SHOWN))
    if not found:
        return
    names = [f"{span.text or 'no answer'} ({span.first}–{span.last})" for span in found]
    plot(
        figures.caption_bars(names, [span.probability for span in found], marked=names[0]),
        key="answer-bars",
        height=60 + 26 * len(names),
        mode_bar=False,
        alt=f"The {len(names)} most probable answers with their tokens. First: {names[0]}.",
    )
    st.caption(about.text(__file__, "How answers are scored"))
    frame = pd.DataFrame([vars(span) for span in found])
    lines = "from encoder.classify import answers\nanswers(model, trace)"
    Export(view, title(view, "Answers"), lambda: frame, lines=lines).draw()
