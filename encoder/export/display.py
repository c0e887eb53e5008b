"""What a notebook shows of an object at the end of a cell: `html`, by `encoder.model.shown.Shown`."""

import numpy as np
import plotly.graph_objects as go

from encoder.encoders.named import NamedEncoder
from encoder.export.grid import grid
from encoder.export.notebook import picture_of
from encoder.export.picture import Picture, escape, figure_picture
from encoder.figures.layers import effect_map
from encoder.figures.similarity import similarity_heatmap
from encoder.measure.heads import HeadMeasures
from encoder.similarity.attribution import Attribution
from encoder.trace.attention_maps import AttentionMaps

#: What a model says of itself, in the order of the forward pass.
FACTS = ("n_layers", "n_heads", "d_model", "d_ffn", "vocab_size", "norm_placement", "position", "activation")


def html(subject: object) -> str:
    """The picture of a trace, a view, an attribution, measures or effects of heads; the facts of a model."""
    if isinstance(subject, NamedEncoder):
        return _table(subject)
    picture = _picture(subject)
    return f"<code>{escape(repr(subject))}</code>{picture._repr_html_()}"


def _picture(subject: object) -> Picture:
    if isinstance(subject, AttentionMaps):
        return grid(subject)
    if isinstance(subject, Attribution):
        return _drawn(similarity_heatmap(subject.matrix, *subject.labels), "cosine by tokens", subject.matrix.shape)
    if isinstance(subject, HeadMeasures):
        measure = "relative_entropy"
        figure = effect_map(np.asarray(subject[measure]), title="normalised entropy")
        return _drawn(figure, "normalised entropy of each head", subject[measure].shape)
    return picture_of(subject)  # type: ignore[arg-type]


def _drawn(figure: go.Figure, name: str, shape: tuple[int, ...]) -> Picture:
    return figure_picture(figure, name=name, places=[list(range(length)) for length in shape])


def _table(model: NamedEncoder) -> str:
    facts = {name: getattr(model.config, name) for name in FACTS} | {"parameters": f"{model.n_parameters:,}"}
    facts |= {"device": model.device, **{f"note {place}": note for place, note in enumerate(model.remarks, 1)}}
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return f"<table><caption>{escape(model.name)}</caption>{rows}</table>"
