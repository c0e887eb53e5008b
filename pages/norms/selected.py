"""The selection that all parts of the page “Norms” share."""

from dataclasses import dataclass

import plotly.graph_objects as go
import streamlit as st

from encoder import Trace, explain, figures
from encoder.figures.numbers import three_digits
from encoder.measure import norms
from encoder.model.layers import NORM_NAMES
from pages.components.events import PlotEvent
from pages.core.view import View
from pages.core.view.place import PlaceParams
from pages.core.words import token_names
from pages.norms.params import Params
from pages.state import controlled, state

#: Kind of norm -> what every vector has after it, before gain and bias.
EFFECTS = {"layer": "mean 0 and standard deviation 1", "rms": "root mean square 1"}
#: Epsilon matters where a vector's standard deviation after a norm, before the gain, is smaller than this.
NEARLY = 0.99
#: Heading -> the figure below it, for the report.
Figures = dict[str, go.Figure]


@dataclass(frozen=True)
class Selected:
    """The selected LayerNorm (its name in the trace), token and component of a sentence."""

    view: View
    statistics: norms.NormStatistics
    norm: str
    token: int
    component: int | None

    @property
    def kind(self) -> str:
        """The norm of this model, by its name."""
        return NORM_NAMES[self.trace.config.norm_kind]

    @property
    def effect(self) -> str:
        """What every vector has before gain and bias; where epsilon keeps one from it, with epsilon."""
        config, least = self.trace.config, self.statistics.least
        usual = EFFECTS[config.norm_kind]
        if least >= NEARLY:
            return usual
        square = "variance" if config.norm_kind == "layer" else "mean square"
        return (
            f"{usual}, or less where its {square} is small next to epsilon, {config.norm_eps:g} "
            f"(least: {three_digits(least)})"
        )

    @property
    def parameters(self) -> str:
        """What a norm of this model applies after it has normalised."""
        return "gain and bias" if self.trace.config.norm_bias else "gain"

    @property
    def origin(self) -> str:
        """Where the parameters come from."""
        return "untrained" if self.view.model.untrained is not None else "learned"

    @property
    def label(self) -> str:
        """The selected norm in headings and sentences."""
        return f"the {figures.norm_label(self.norm)} {self.kind}"

    @property
    def trace(self) -> Trace:
        """The trace of the sentence."""
        return self.view.trace

    @property
    def shown_component(self) -> int:
        """The selected component, by default the largest of the token."""
        if self.component is None:
            return norms.largest_component(self.trace, self.norm, self.token)
        return self.component

    @property
    def step(self) -> explain.Normalised:
        """The selected token at the selected LayerNorm."""
        return explain.normalised(self.trace, self.norm, self.token, self.shown_component)

    def quoted(self, token: int) -> str:
        """A token in a sentence."""
        return token_names.quoted(self.trace.labels, token)


def choose_norm(selected: Selected) -> None:
    """The slider through the norms, below the picture."""
    if len(selected.statistics.names) == 1:
        return
    with st.container(key="controls-norm"):
        controlled(
            st.select_slider,
            selected.kind,
            selected.statistics.names,
            key="norm-slider",
            value=selected.norm,
            take=lambda name: state.put(Params.at, name),
            format_func=figures.norm_label,
            width="stretch",
        )


def select_component(event: PlotEvent) -> None:
    """A click on a bar selects its component."""
    if isinstance(event.get("x"), int):
        state.put(PlaceParams.component, event["x"])
