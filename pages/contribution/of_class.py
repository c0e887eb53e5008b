"""Each token's part in the log-odds of a class."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder import TextEncoder, similarity
from encoder.figures.token_bars import signed_token_bars
from encoder.trace import gradual
from pages.base.work import long_work
from pages.components import plot
from pages.contribution.params import Params
from pages.core.stores import results
from pages.core.view import View
from pages.core.widgets import Export, class_head, outcomes, title
from pages.core.words import about, formulas, plain, table, token_names
from pages.state import links, state


@dataclass(frozen=True)
class ChosenClass:
    """model: with the head; label: the class; position: the token, for a head that tags tokens."""

    model: TextEncoder
    label: str
    position: int | None


def missing(view: View) -> None:
    """What to do without a head."""
    of_text = view.loaded.takes == "text"
    trained = ", or train a probe and use it as a head" if of_text else ""
    st.info(
        f"{view.loaded.name} has no classification head. Choose a checkpoint that has one{trained}.",
        icon=":material/info:",
    )
    if of_text:
        links.link("probes", "Probes: train a head on this model", icon="label")


#: Up to so many tokens the numbers are computed without being asked.
AT_ONCE = 64
REFERENCES = {"pad": "Padding tokens", "zero": "Zero vectors"}
#: Tokens that the sentence names.
LARGEST = 4


def show(view: View) -> Export | None:
    """The whole part of the page; None where it has no numbers."""
    model = class_head.model_of(view)
    if model.classifier is None:
        missing(view)
        return None
    left, right = st.columns([11, 9], gap="medium")
    with left:
        class_head.draw(view)
    with right:
        with st.container(key="controls-class", horizontal=True, vertical_alignment="bottom", gap="medium"):
            chosen = ChosenClass(model, *outcomes.choose_label(view, model))
        reference = _reference(chosen)
    found = _found(view, chosen, reference)
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


def exported(view: View, found: similarity.ClassAttribution, figure: go.Figure) -> Export:
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
        Params.class_reference,
        "Reference",
        REFERENCES,
        help="The bars explain the difference between your sentence and its reference. Padding tokens: every word "
        "becomes the padding token at the same position. Zero vectors: all vectors are 0, which the model never sees.",
    )


def _found(view: View, chosen: ChosenClass, reference: str) -> similarity.ClassAttribution | None:
    """The attribution, kept in this session; None while it waits for a click."""
    source = view.trace.source
    assert source is not None

    def work() -> long_work.Work[similarity.ClassAttribution]:
        parts = similarity.iter_attribute_class(chosen.model, source, chosen.label, chosen.position, reference)  # type: ignore[arg-type]
        return gradual.reported(parts, lambda n: (n / (n + 64), f"Steps on the path: {n}"))

    what = (reference, view.run.of_pass, class_head.current(), chosen.label, chosen.position)
    ask = "" if len(source) <= AT_ONCE else f"Tokens: {len(source)}. This may take minutes."
    return results.of_work("class", what, work, label="Compute the bars", ask=ask, own=True)


def _answer(found: similarity.ClassAttribution, labels: list[str] | tuple[str, ...]) -> str:
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


def _check(found: similarity.ClassAttribution, unit: str) -> None:
    number = formulas.number
    rows = (
        (f"{unit.capitalize()} of the sentence", number(found.outcome, 3)),
        (f"− {unit} of the reference", f"− ({number(found.of_reference, 3)})"),
        ("= what the bars must add up to", number(found.change, 3)),
        ("Sum of all bars", f"**{number(float(found.values.sum()), 3)}**"),
        ("Error", f"{found.error:.1g}, {found.steps} steps"),
    )
    st.markdown(table(("The check", "value"), rows))
    st.caption(about.text(__file__, "How the bars are computed"))
