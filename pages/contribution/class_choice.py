"""The class of a classification head that two parts of the page are about."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import streamlit as st

from encoder import classify
from encoder.encoders.text import TextEncoder
from encoder.trace.trace import Trace
from pages.core.view.view import View
from pages.core.widgets import class_head, outcomes
from pages.state import links


@dataclass(frozen=True)
class ChosenClass:
    """model: with the head; label: the class; position: the token, for a head that tags tokens."""

    model: TextEncoder
    label: str
    position: int | None

    def probability(self, trace: Trace) -> float:
        """The probability of the class in a run; a regression's score."""
        return classify.probability(self.model, trace, self.label, self.position)

    @property
    def outcome(self) -> str:
        """The name of that number."""
        assert self.model.classifier is not None
        kind = "score" if self.model.classifier.config.scale == "none" else "probability"
        return f"the {kind} of “{self.label}”"

    def names(self, view: View) -> tuple[Hashable, ...]:
        """All that its numbers depend on."""
        return view.model, view.text, view.pair, class_head.current(), self.label, self.position


def has_head(view: View) -> bool:
    """Whether the model, or this session, has a classification head for the view."""
    return class_head.model_of(view).classifier is not None


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


def choose(view: View) -> ChosenClass:
    """The widgets of the class, and for a tagger of the token. Only for a view that has a head."""
    model = class_head.model_of(view)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        return ChosenClass(model, *outcomes.choose_label(view, model))
