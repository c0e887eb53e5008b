"""What a notebook shows of an object at the end of a cell: `html`, by `encoder.model.shown.Shown`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.classify import Prediction
from encoder.drawing.picture import Picture, escape, figure_picture
from encoder.encoders.generate import Generation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.export.notebook import picture_of
from encoder.figures.layers import effect_map
from encoder.figures.pairs import similarity_heatmap
from encoder.measure.heads import HeadMeasures
from encoder.probe import Curve
from encoder.search import Collection
from encoder.similarity.attribution import Attribution
from encoder.trace.attention_maps import AttentionMaps
from encoder.views.grid import grid

#: What a model says of itself, in the order of the forward pass.
FACTS = ("n_layers", "n_heads", "d_model", "d_ffn", "vocab_size", "norm_placement", "position", "activation")
#: A table of more rows shows its first and its last ones, half as many each.
ROWS = 20


def html(subject: object) -> str:
    """The picture of a trace, a view, an attribution, measures or effects of heads; the rows of other results; the
    facts of a model, in a column for each tower."""
    if isinstance(subject, NamedEncoder):
        return _facts({subject.name: subject})
    if isinstance(subject, JointEncoder):
        shown = _facts(subject.towers)
    elif isinstance(subject, Prediction):
        shown = _rows(subject.table().sort_values("logit", ascending=False, kind="stable"))
    elif isinstance(subject, Curve | Collection | Generation):
        shown = _rows(subject.table())
    else:
        shown = _picture(subject)._repr_html_()
    return f"<code>{escape(repr(subject))}</code>{shown}"


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


def _rows(table: pd.DataFrame) -> str:
    """A table as pandas shows it, with the number of its rows if it does not show all."""
    return str(table.to_html(max_rows=ROWS, show_dimensions=len(table) > ROWS))


def _facts(models: Mapping[Any, NamedEncoder]) -> str:
    """A column for each model. Notes are shown whole: pandas cuts what is longer than 50 characters."""
    columns = {}
    for title, model in models.items():
        columns[title] = {name: getattr(model.config, name) for name in FACTS}
        columns[title] |= {"parameters": f"{model.n_parameters:,}", "device": model.device}
        columns[title] |= {f"note {place}": note for place, note in enumerate(model.remarks, 1)}
    with pd.option_context("display.max_colwidth", None):
        return _rows(pd.DataFrame(columns))
