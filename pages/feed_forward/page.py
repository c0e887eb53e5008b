"""Feed-forward: the neurons of a layer, what the FFN adds next to attention, and what is lost without either."""

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from encoder.documents.document import Section
from encoder.documents.tables import axis, cells_of
from encoder.explain.neurons import NeuronMap
from encoder.figures.feed_forward import neuron_heatmap
from pages.components.lazy import expander
from pages.core.frame.frame import heading, place_controls, show
from pages.core.view import View
from pages.core.widgets import Export, answer, title
from pages.core.words import about, errors_said
from pages.feed_forward import activations, examples, experts, neuron, updates
from pages.state import next_page


def main(view: View) -> None:
    place_controls()
    with heading(
        "Attention moves information between tokens. The feed-forward network (FFN) transforms each token by itself."
    ):
        activations.controls()
    selected = activations.select(view)
    with answer.area():
        found = activations.draw(selected)
    chosen = experts.draw(view, selected.token)
    of_neuron, places = neuron.draw(selected)
    drawn = {**chosen, **of_neuron}
    added, lost = "How much do attention and the FFN add?", "What is lost without attention, or without the FFN?"
    if (part := expander(added, "updates", icon=":material/stacked_bar_chart:")) is not None:
        with part:
            drawn |= updates.sizes(view, selected.token)
    if (part := expander(lost, "lost", icon=":material/content_cut:")) is not None:
        with part, errors_said(st.info, icon=":material/edit:"):
            if (figure := updates.left_out(view)) is not None:
                drawn[lost] = figure
    if view.loaded.config.conformer is not None:
        st.caption(about.text(__file__, "Second of two"))
    st.caption(about.text(__file__, "Limits"))
    exported(selected, found, drawn, places).draw()
    next_page("interventions", "What changes if you switch this neuron off?", neuron.switched_off(selected))


def exported(
    selected: activations.Selected, found: NeuronMap, drawn: dict[str, go.Figure], places: Section | None
) -> Export:
    """The activations of the open layer. found: the numbers of the map; drawn: the other figures by their titles;
    places: the words of example sentences, once they are found."""
    view, layer = selected.view, selected.layer

    def frame() -> pd.DataFrame:
        return cells_of(axis(view.trace.labels), "neuron", numbers={"activation": layer.hidden})

    def sections() -> list[Section]:
        whole = neuron_heatmap(
            found.values,
            found.neurons,
            view.trace.labels,
            block=found.block,
            token=selected.token,
            neuron=selected.neuron,
            more=len(activations.further(selected)),
        )
        figures = {f"Activations of layer {view.layer}, most active neurons first": whole, **drawn}
        parts = [Section(heading, figure=figure) for heading, figure in figures.items()]
        parts[1:1] = [Section("Which neurons are active", sentences=(activations.share(selected),))]
        return [*parts, *([] if places is None else [places]), Section("Numbers", table=frame())]

    return Export(
        view,
        title(view, f"Neurons of layer {view.layer}"),
        frame,
        sections=sections,
        lines="from encoder import causal, explain\n"
        "from encoder.explain.neurons import update_sizes\n"
        f"layer = explain.hidden_activations(trace, {view.layer})\n"
        "hidden, active = layer.hidden, layer.active\n"
        f"activation = hidden[{selected.token}, {selected.neuron}]\n"
        "updates = update_sizes(trace)\n"
        "lost = causal.leave_out_each_sublayer(model, trace)" + ("" if places is None else examples.lines(selected)),
        settings={"Layer": view.layer, "Neuron": selected.neuron, "Token": selected.token},
    )


show(main)
