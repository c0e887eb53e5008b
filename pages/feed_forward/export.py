"""The export of the page Feed-forward: the activations, the sizes of updates, and Python lines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.figures.feed_forward import neuron_heatmap
from pages.core.export import export_panel, title
from pages.feed_forward.activations import Selected, shown


def export_neurons(selected: Selected, drawn: dict[str, go.Figure]) -> None:
    """The activations of the open layer; drawn: the page's other figures by their titles."""
    view, layer = selected.view, selected.layer

    def frame() -> pd.DataFrame:
        tokens, neurons = np.indices(layer.hidden.shape)
        return pd.DataFrame(
            {
                "position": tokens.ravel(),
                "token": np.array(view.trace.labels)[tokens.ravel()],
                "neuron": neurons.ravel(),
                "activation": layer.hidden.ravel(),
            }
        )

    def figures() -> dict[str, go.Figure]:
        found = shown(selected)
        map_ = neuron_heatmap(
            found.values, found.neurons, view.trace.labels, block=found.block, token=selected.token,
            neuron=selected.neuron,
        )  # fmt: skip
        return {f"Activations of layer {view.layer}, most active neurons first": map_, **drawn}

    lines = (
        "from encoder import causal, explain\n"
        "from encoder.explain.neurons import update_sizes\n"
        f"hidden = explain.hidden_activations(trace, {view.layer}).hidden\n"
        f"activation = hidden[{selected.token}, {selected.neuron}]\n"
        "updates = update_sizes(trace)\n"
        "lost = causal.leave_out_each_sublayer(model, trace)"
    )
    export_panel(
        view,
        title(view, f"Neurons of layer {view.layer}"),
        frame,
        figures=figures,
        lines=lines,
        settings={"Layer": view.layer, "Neuron": selected.neuron, "Token": selected.token},
    )
