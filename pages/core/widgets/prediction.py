"""The prediction of a classification head: classes of the text with their probabilities, or entities drawn in it."""

from __future__ import annotations

import html

import streamlit as st

from encoder import classify
from encoder.encoders.text import TextEncoder
from encoder.figures.colours import SERIES
from encoder.trace.trace import Trace
from pages.core.view.view import View
from pages.core.widgets import class_head
from pages.core.words.formulas import number
from pages.core.words.markdown import errors_said, plain, table

#: Classes that are listed, the most probable first.
SHOWN = 5


def draw(view: View, edited: Trace | None = None) -> None:
    """The prediction for the view's text; with an edited run, before and after. Nothing for a model without a head."""
    model = class_head.model_of(view)
    if model.classifier is None:
        return
    with errors_said(st.info, icon=":material/info:"):
        if model.classifier.config.kind == "sequence":
            _classes(model, view.trace, edited)
        else:
            _entities(model, view.trace, "Before the edits" if edited is not None else "")
            if edited is not None:
                _entities(model, edited, "After the edits")


def _classes(model: TextEncoder, trace: Trace, edited: Trace | None) -> None:
    before = classify.predict(model, trace)
    after = None if edited is None else classify.predict(model, edited)
    shown = after or before
    order = sorted(range(len(before.labels)), key=lambda place: -before.logits[place])[:SHOWN]
    share = model.classifier is not None and model.classifier.config.scale != "none"

    def value(one: float) -> str:
        return f"{one:.1%}" if share else number(one)

    runs = {"before": before, "after": after} if after else {"probability" if share else "score": before}
    rows = []
    for place in order:
        name = plain(before.labels[place])
        first = f"**{name}**" if before.labels[place] == shown.best else name
        rows.append([first, *(value(run.probabilities[place]) for run in runs.values())])
    st.markdown(table(["Class", *runs], rows))
    more = len(before.labels) - len(order)
    if more > 0:
        st.caption(f"And {more:,} more classes.")


def _entities(model: TextEncoder, trace: Trace, caption: str) -> None:
    """Each text with its entities underlined, in one colour for each label."""
    found = classify.entities(model, trace)
    source = trace.source
    assert source is not None
    labels = sorted({one.label for one in found})
    for side, text in enumerate((source.text, source.pair)):
        if text is None:
            continue
        parts, last = [], 0
        for one in (entity for entity in found if entity.side == side):
            shade = SERIES[labels.index(one.label) % len(SERIES)]
            parts.append(html.escape(text[last : one.start]))
            parts.append(
                f'<mark style="border-color: {shade}">{html.escape(text[one.start : one.end])}'
                f"<small>{html.escape(one.label)} {one.probability:.0%}</small></mark>"
            )
            last = one.end
        parts.append(html.escape(text[last:]))
        st.html(f'<p class="enc-entities" dir="auto">{"".join(parts)}</p>')
    said = "" if found else "No entity: every word is tagged O."
    st.caption(" ".join(filter(None, (caption, said))) or "Underlined: words with a tag, and its probability.")
