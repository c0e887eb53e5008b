"""What a notebook shows of an object at the end of a cell: `html`, which `encoder.model.shown.Shown` calls.

Each type has a function here, registered by `html.register`; a subclass without one is shown as its base class. For a
type of your own that inherits `Shown`, register a function that returns HTML:

    @display.html.register
    def _(mine: Mine) -> str:
        return headed(mine, rows(mine.table()))
"""

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.classify import Prediction
from encoder.drawing.picture import escape, figure_picture
from encoder.encoders.generate import Generation
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.errors import EncoderError
from encoder.export.notebook import picture_of
from encoder.figures.layers import measure_map
from encoder.figures.pairs import similarity_heatmap
from encoder.measure.head_definitions import BY_NAME
from encoder.measure.head_measures import HeadMeasures
from encoder.probe import Curve
from encoder.scores import ScoreExplanation
from encoder.search import Collection
from encoder.similarity.attribution import Attribution
from encoder.texts import PositionSensitivity, Ranking
from encoder.trace.attention_maps import AttentionMaps
from encoder.trace.trace import Trace
from encoder.views.grid import grid
from encoder.views.lines import Lines
from encoder.views.map import Map
from encoder.views.text import Text

#: What a model says of itself, in the order of the forward pass.
FACTS = ("n_layers", "n_heads", "d_model", "d_ffn", "vocab_size", "norm_placement", "position", "activation")
#: A table of more rows shows its first and its last ones, half as many each.
ROWS = 20


@singledispatch
def html(subject: object) -> str:
    """The picture of a trace, a view, an attribution, measures or effects of heads; the rows of other results; the
    facts of a model, in a column for each tower. Raises EncoderError for a type that is not registered."""
    raise EncoderError(
        f"{type(subject).__name__} has no picture: register a function for it by encoder.export.display.html.register."
    )


def headed(subject: object, shown: str) -> str:
    """HTML with the `repr` of an object as its first line."""
    return f"<code>{escape(repr(subject))}</code>{shown}"


def rows(table: pd.DataFrame) -> str:
    """A table as pandas shows it, with the number of its rows if it does not show all."""
    return str(table.to_html(max_rows=ROWS, show_dimensions=len(table) > ROWS))


@html.register
def _(trace: Trace) -> str:
    return headed(trace, picture_of(trace)._repr_html_())


@html.register
def _(maps: AttentionMaps) -> str:
    return headed(maps, grid(maps)._repr_html_())


@html.register(Lines | Map | Text)
def _(view: Lines | Map | Text) -> str:
    return headed(view, picture_of(view)._repr_html_())


@html.register
def _(found: Attribution) -> str:
    figure = similarity_heatmap(found.matrix, *found.labels)
    return headed(found, _drawn(figure, "cosine by tokens", found.matrix.shape))


@html.register
def _(measures: HeadMeasures) -> str:
    quantity = BY_NAME["relative_entropy"]
    values = np.asarray(measures[quantity.name])  # [L, H]
    figure = measure_map(values, quantity.limits(values, measures.n_tokens), quantity.title.lower())
    return headed(measures, _drawn(figure, f"{quantity.title.lower()} of each head", values.shape))


@html.register
def _(prediction: Prediction) -> str:
    return headed(prediction, rows(prediction.table().sort_values("logit", ascending=False, kind="stable")))


@html.register
def _(why: ScoreExplanation) -> str:
    if why.split is None or not why.split.matrix.size:
        return headed(why, rows(why.table()))
    figure = similarity_heatmap(why.split.matrix, *why.split.labels, title=f"part of the {why.kind}")
    return headed(why, _drawn(figure, f"{why.kind} by pairs of words", why.split.matrix.shape))


@html.register(Curve | Collection | Generation | Ranking | PositionSensitivity)
def _(found: Curve | Collection | Generation | Ranking | PositionSensitivity) -> str:
    return headed(found, rows(found.table()))


@html.register
def _(model: NamedEncoder) -> str:
    return _facts({model.name: model})


@html.register
def _(pair: JointEncoder) -> str:
    return headed(pair, _facts(pair.towers))


def _drawn(figure: go.Figure, name: str, shape: tuple[int, ...]) -> str:
    return figure_picture(figure, name=name, places=[list(range(length)) for length in shape])._repr_html_()


def _facts(models: Mapping[Any, NamedEncoder]) -> str:
    """A column for each model. Notes are shown whole: pandas cuts what is longer than 50 characters."""
    columns = {}
    for title, model in models.items():
        columns[title] = {name: getattr(model.config, name) for name in FACTS}
        columns[title] |= {"parameters": f"{model.n_parameters:,}", "device": model.device}
        columns[title] |= {f"note {place}": note for place, note in enumerate(model.remarks, 1)}
    with pd.option_context("display.max_colwidth", None):
        return rows(pd.DataFrame(columns))
