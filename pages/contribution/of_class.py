"""What a class depends on: the prediction, and each token's part in the log-odds of a class."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import similarity
from encoder.errors import EncoderError
from encoder.figures.token_bars import signed_token_bars
from encoder.similarity import ClassAttribution
from encoder.trace import gradual
from pages.components import plot
from pages.contribution import class_choice
from pages.contribution.class_choice import ChosenClass
from pages.contribution.params import Params
from pages.core.view.view import View, state
from pages.core.widgets import prediction
from pages.core.widgets.export import Export, title
from pages.core.words import formulas, references, token_names
from pages.core.words.markdown import plain, say_error
from pages.core.work import long_work

#: Up to so many tokens the numbers are computed without being asked.
AT_ONCE = 64
REFERENCES = {"pad": "Padding tokens", "zero": "Zero vectors"}
#: Tokens that the sentence names.
LARGEST = 4


def show(view: View) -> Export | None:
    """The whole part of the page; None where it has no numbers."""
    if not class_choice.has_head(view):
        class_choice.missing(view)
        return None
    left, right = st.columns([11, 9], gap="medium")
    with left:
        prediction.draw(view)
    try:
        with right:
            chosen = class_choice.choose(view)
            reference = _reference(chosen)
        found = _found(view, chosen, reference)
    except EncoderError as error:
        say_error(error, st.info, icon=":material/info:")
        return None
    if found is None:
        return None
    labels = view.trace.labels
    figure = signed_token_bars(found.values, labels[: len(found.values)], _unit(chosen), found.position)
    left, right = st.columns([11, 9], gap="medium")
    with left:
        plot(
            figure,
            key="class-by-token",
            alt="A bar for each token: its part in the log-odds of the class, above or below 0.",
            height=340,
        )
    with right:
        st.markdown(_answer(found, labels))
        _check(found, _unit(chosen))
    return exported(view, found, figure)


def exported(view: View, found: ClassAttribution, figure: go.Figure) -> Export:
    """The tokens' shares of a class."""
    labels = np.array(view.trace.labels, dtype=object)
    n_tokens = len(found.values)
    return Export(
        view,
        title(view, f"Class “{found.label}” by token"),
        lambda: pd.DataFrame({"position": np.arange(n_tokens), "token": labels[:n_tokens], "value": found.values}),
        figures={"Part of the log-odds": figure},
        lines=(
            "from encoder import similarity\n"
            f"found = similarity.attribute_class(model, trace.source, {found.label!r}, {found.position}, "
            f"{found.reference!r})\nfound.values"
        ),
        settings={"Class": found.label, "Reference": found.reference, "Steps": found.steps},
    )


def _unit(chosen: ChosenClass) -> str:
    head = chosen.model.classifier
    return "score" if head is not None and head.config.scale == "none" else "log-odds"


def _reference(chosen: ChosenClass) -> str:
    if not chosen.model.can_pad:
        return "zero"
    return state.segmented(
        Params.class_reference, "Reference", REFERENCES,
        help="The bars explain the difference between your sentence and its reference. Padding tokens: every word "
        "becomes the padding token at the same position. Zero vectors: all vectors are 0, which the model never sees.",
    )  # fmt: skip


def _found(view: View, chosen: ChosenClass, reference: str) -> ClassAttribution | None:
    """The attribution, kept in this session; None while it waits for a click."""
    what = ("class", reference, *chosen.names(view))
    if (found := class_choice.kept(what)) is not None:
        return found  # type: ignore[no-any-return]
    source = view.trace.source
    assert source is not None

    def work() -> long_work.Work[ClassAttribution]:
        parts = similarity.iter_attribute_class(chosen.model, source, chosen.label, chosen.position, reference)  # type: ignore[arg-type]
        return (yield from gradual.reported(parts, lambda n: (n / (n + 64), f"Steps on the path: {n}")))

    ask = "" if len(source) <= AT_ONCE else f"Tokens: {len(source)}. This may take minutes."
    found = long_work.result("class", what, work, label="Compute the bars", ask=ask)
    return None if found is None else class_choice.keep(what, found)


def _answer(found: ClassAttribution, labels: list[str] | tuple[str, ...]) -> str:
    """The largest parts on either side of 0."""
    order = sorted(range(len(found.values)), key=lambda place: -found.values[place])
    raising = [place for place in order[:LARGEST] if found.values[place] > 0]
    lowering = [place for place in order[::-1][:LARGEST] if found.values[place] < 0]

    def listed(places: list[int]) -> str:
        parts = [f"{token_names.bold(labels, one)} {formulas.number(float(found.values[one]))}" for one in places]
        return "; ".join(parts) or "none"

    return (
        f"Tokens that raise “{plain(found.label)}” most: {listed(raising)}.  \n"
        f"Tokens that lower it most: {listed(lowering)}."
    )


def _check(found: ClassAttribution, unit: str) -> None:
    number = formulas.number
    rows = (
        (f"{unit.capitalize()} of the sentence", number(found.outcome, 3)),
        (f"− {unit} of the reference", f"− ({number(found.of_reference, 3)})"),
        ("= what the bars must add up to", number(found.change, 3)),
        ("Sum of all bars", f"**{number(float(found.values.sum()), 3)}**"),
        ("Error", f"{found.error:.1g}, {found.steps} steps"),
    )
    st.markdown("\n".join(["| The check | value |", "|:--|--:|", *(f"| {name} | {value} |" for name, value in rows)]))
    references.caption(
        "Integrated gradients (Sundararajan, Taly and Yan 2017). Log-odds: log(p / (1 − p)). The check covers the sum; "
        "a single bar cannot be checked. Another reference gives other bars. “Occlusion” hides "
        "tokens instead."
    )
