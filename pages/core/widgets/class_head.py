"""Classification heads: the one that this session opened next to its models, and what a head predicts.

A checkpoint's own head comes first.
"""

import html
from collections.abc import Sequence

import streamlit as st

from encoder import EncoderError, TextEncoder, Trace, classify
from encoder.figures.colours import SERIES
from encoder.model.classifier import Classifier
from pages.core.view import View
from pages.core.words import errors_said, number, plain, table

_HEAD = "_opened_head"
#: Classes that a sentence names.
NAMED = 3


def put(head: Classifier, model: str, name: str) -> None:
    """Open a head. model: the name of the model that it was trained on; name: its own, for the screen."""
    st.session_state[_HEAD] = (head, model, name)


def drop() -> None:
    """Close the opened head."""
    st.session_state.pop(_HEAD, None)


def name() -> str:
    """The name of the opened head, "" without one."""
    return st.session_state[_HEAD][2] if _HEAD in st.session_state else ""


def current() -> Classifier | None:
    """The opened head itself, which distinguishes results that depend on it."""
    return st.session_state[_HEAD][0] if _HEAD in st.session_state else None


def model_of(view: View) -> TextEncoder:
    """The view's model with its own head, or with the opened one if that was trained on this model."""
    model = view.loaded
    if model.classifier is not None or _HEAD not in st.session_state:
        return model
    head, trained_on, _ = st.session_state[_HEAD]
    if trained_on != model.name:
        return model
    try:
        return classify.with_head(model, head)
    except EncoderError:  # a model of the same name and another width
        return model


def said(view: View) -> str:
    """The most probable classes of an image or a sound, in a sentence; "" without a head."""
    if view.loaded.classifier is None:
        return ""
    first, *others = _best(view, NAMED)
    return f"Class: **{first}**" + (f"; next: {', '.join(others)}." if others else ".")


def best(view: View) -> str:
    """The most probable class of an image or a sound, as the beginning of a line; "" without a head."""
    return "" if view.loaded.classifier is None else f"Class: **{_best(view, 1)[0]}**. "


def _best(view: View, count: int) -> list[str]:
    found = view.derived("classes of the input", view.loaded.probabilities)
    return [f"{plain(name)} ({found[name]:.1%})" for name in sorted(found, key=found.__getitem__, reverse=True)[:count]]


#: Classes that are listed, the most probable first.
SHOWN = 5


def draw(view: View, edited: Trace | None = None) -> None:
    """The prediction for the view's text; with an edited run, before and after. Nothing for a model without a head."""
    model = model_of(view)
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


def underline(text: str, found: Sequence[classify.Entity], labels: Sequence[str], start: int = 0) -> None:
    """A text from a character on, with its entities underlined. labels: each has a colour of its own."""
    parts, last = [], start
    for one in found:
        shade = SERIES[labels.index(one.label) % len(SERIES)]
        parts.append(html.escape(text[last : one.start]))
        parts.append(
            f'<mark style="border-color: {shade}">{html.escape(text[one.start : one.end])}'
            f"<small>{html.escape(one.label)} {one.probability:.0%}</small></mark>"
        )
        last = one.end
    parts.append(html.escape(text[last:]))
    st.html(f'<p class="enc-entities" dir="auto">{"".join(parts)}</p>')


def _entities(model: TextEncoder, trace: Trace, caption: str) -> None:
    """Each text with its entities underlined, in one colour for each label."""
    found = classify.entities(model, trace)
    source = trace.source
    assert source is not None
    labels = sorted({one.label for one in found})
    for side, text in enumerate((source.text, source.pair)):
        if text is not None:
            underline(text, [entity for entity in found if entity.side == side], labels)
    said = "" if found else "No entity: every word is tagged O."
    st.caption(" ".join(filter(None, (caption, said))) or "Underlined: words with a tag, and its probability.")
