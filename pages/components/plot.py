"""`plot`: a Plotly figure whose clicks, zooms and keys reach Python."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas  # noqa: F401  whole, before a figure: plotly uses a pandas that another thread has half imported
import plotly.graph_objects as go
import plotly.io as pio

from encoder.drawing import wire
from encoder.drawing.plotly_js import check_kinds
from pages.base.work.whole_callbacks import whole
from pages.state import url_state
from pages.state.params import Param

from . import assets, events, fade
from .events import PlotEvent, ZoomWindow
from .headers import FigureMessage, NextHead, PlotHeader, PlotSelection, Together

_render = assets.component("plot")

#: The least height of a page's main picture, in pixels; plot_layout.js lowers it on narrow screens.
MAIN = 520
Positions = int | Sequence[int] | None
#: Types that are JSON as they are.
_JSON = frozenset({str, int, bool, type(None)})


def plot(
    figure: go.Figure | Mapping[str, Any],
    *,
    key: str,
    alt: str,
    height: int | None = None,
    fill: bool = False,
    shows: str | None = None,
    next_head: NextHead | None = None,
    together: Together | None = None,
    selected: tuple[Positions, Positions] | None = None,
    zoom: Param[ZoomWindow | None] | None = None,
    mode_bar: bool = True,
    on_event: Callable[[PlotEvent], None] | None = None,
) -> None:
    """Draws a figure.

    Figures of bars, points, curves and heat maps work. Clicks on cells and tick labels, and arrow keys, need a heat
    map whose axes are integer positions. An axis with `tickvals` and `ticktext` is a token axis: pass all its tokens,
    and the browser draws as many labels as fit, more after zooming in. The label of a cell is the trace's
    `hovertemplate`: `%{x}` and `%{y}` are tokens, named by `labelalias` if it has them ("the (4)"); `%{z:.3f}`,
    `%{text}` and `%{customdata}` belong to the cell. Colours and fonts that the figure leaves open follow the theme.
    The zoom survives a new figure while `layout.uirevision` stays the same (if unset: while the map's shape does).

    Args:
        figure: a Plotly figure, or one as plain dictionaries {"data", "layout"}. Its arrays travel as bytes: 2-D floats
            as float32, whole numbers as int32 or smaller.
        key: the widget's key, and the name of a downloaded picture.
        alt: a sentence for screen readers.
        height: pixels; on a narrow screen a map is never higher than 1.25 times its width. None: the main picture of
            a page: `fill`, and at least `MAIN` high where its column has 900 pixels.
        fill: the map is as wide as its column and high enough for square cells, but at least `height` and at most the
            window's room below it.
        shows: where this text is another one than before, the old picture fades over the new one (not with reduced
            motion). None: the model's placement of the norms.
        next_head: how the map of a head that you open in a `head_grid` is drawn before Python answers. Either with
            "maps", the label of a `store` of "maps", float32 [L, H, R, C]. Or with "channel": a path that answers
            `?layer=0&head=0` with `figure_answer` of the same figure of that head.
        together: the words that change with this figure are those of a container whose key is "says-" and the name. The
            container of both has the attribute `data-drawing` until they do.
        selected: (queries, keys), each a position, several, or None: the arrow keys start there. These rows and columns
            are framed in every map of the figure, unless it has `layout.shapes` of its own.
        zoom: the value of the address that holds the zoom window. If unset, the window is not part of the address.
        mode_bar: whether buttons for zooming and for downloads appear over the chart.
        on_event: called with each click before the page runs, so it may set the state of other widgets. Without it,
            clicks and zooms stay in the browser, unless `zoom` is given.

    Raises ValueError for a trace of a kind that the browser's script does not draw.
    """
    message, arrays = _message(figure, selected)
    header: PlotHeader = {
        **message,
        "alt": alt,
        "height": height or MAIN,
        "name": key,
        "plotly": assets.plotly_js_url(),
        "window": plot_window(key, zoom),
        "zoomHeard": events.zoom_heard(events.state(key).get("relayout")),
        "zoomLinked": zoom is not None,
        "isHeard": on_event is not None,
        "modeBar": mode_bar,
        "fill": fill or height is None,
        "shows": fade.shown(shows),
        "together": together,
        "nextHead": next_head,
    }
    _render(
        key=key,
        data=wire.pack(header, arrays),
        height=height or MAIN,
        on_click_change=lambda: events.tell(key, "click", events.plot_click, on_event),
        on_relayout_change=lambda: _on_zoom(key, zoom),
    )


def figure_answer(figure: Mapping[str, Any], selected: tuple[Positions, Positions] | None) -> bytes:
    """A figure as the bytes that a channel sends to a plot."""
    return wire.pack(*_message(figure, selected))


def plot_window(key: str, zoom: Param[ZoomWindow | None] | None = None) -> ZoomWindow | None:
    """What the plot of this key shows after zooming, or None for all of it; known before the figure is built."""
    if zoom is not None:
        return url_state.state.get(zoom)
    return events.zoom_window(events.state(key).get("relayout"))


def _on_zoom(key: str, zoom: Param[ZoomWindow | None] | None) -> None:
    with whole():
        url_state.touch()
        if zoom is not None:
            url_state.state.put(zoom, events.zoom_window(events.state(key).get("relayout")))


def _message(
    figure: go.Figure | Mapping[str, Any], selected: tuple[Positions, Positions] | None
) -> tuple[FigureMessage, dict[str, np.ndarray]]:
    """The figure as JSON that points at arrays, and the arrays."""
    arrays: dict[str, np.ndarray] = {}
    if isinstance(figure, Mapping):
        data, layout = figure["data"], {name: part for name, part in figure["layout"].items() if name != "template"}
    else:
        data, layout = [trace.to_plotly_json() for trace in figure.data], figure.layout.to_plotly_json()
        if layout.get("template") == _default_template():
            layout.pop("template")  # 7 kB that Plotly puts into every figure; the theme takes its place
    check_kinds(data)
    layout = {name: _brief(part) for name, part in layout.items()}
    json = {"data": _plain(data, "data", arrays), "layout": _plain(layout, "layout", arrays)}
    frames: PlotSelection | None = None
    if selected is not None:
        frames = {"i": _positions(selected[0]), "j": _positions(selected[1])}
    return {"figure": json, "selected": frames}, arrays


def _brief(part: Any) -> Any:
    """A token axis without the aliases that are its tick texts again: the browser knows them."""
    if not isinstance(part, Mapping) or not {"labelalias", "tickvals", "ticktext"} <= set(part):
        return part
    ticks = {f"{value:g}": text for value, text in zip(part["tickvals"], part["ticktext"], strict=True)}
    return {**part, "labelalias": {name: text for name, text in part["labelalias"].items() if ticks.get(name) != text}}


@cache
def _default_template() -> dict[str, Any]:
    return go.Figure().layout.template.to_plotly_json() if pio.templates.default else {}


def _positions(value: Positions) -> list[int]:
    if value is None:
        return []
    return [int(value)] if np.isscalar(value) else [int(position) for position in value]  # type: ignore[union-attr]


def _plain(node: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    """JSON's own types only; an array of numbers goes into `arrays` under its path and leaves {"$array": path}."""
    if type(node) in _JSON:  # nine of ten
        return node
    if isinstance(node, (dict, Mapping)):
        return {str(name): _plain(value, f"{path}.{name}", arrays) for name, value in node.items()}
    if isinstance(node, np.ndarray):
        number = _number_array(node)
        if number is None or node.ndim == 0:
            return _plain(node.tolist(), path, arrays)
        arrays[path] = number
        return {"$array": path}
    if isinstance(node, (list, tuple)):
        return [value if type(value) in _JSON else _plain(value, f"{path}.{k}", arrays) for k, value in enumerate(node)]
    if isinstance(node, np.generic):
        return _plain(node.item(), path, arrays)
    if isinstance(node, float):
        return node if math.isfinite(node) else None
    if isinstance(node, (str, int)):
        return node
    if hasattr(node, "isoformat"):  # dates
        return node.isoformat()
    raise TypeError(f"{path} of the figure is a {type(node).__name__}, which Plotly's JSON cannot say.")


def _number_array(array: np.ndarray) -> np.ndarray | None:
    """The array in a dtype of the wire; None for text, objects, booleans, dates and whole numbers beyond int32."""
    if array.dtype.name in wire.DTYPES:
        # A curve's coordinates keep their digits; a map has too many cells for 8 bytes each.
        return array.astype(np.float32) if array.dtype == np.float64 and array.ndim > 1 else array
    if array.dtype.kind == "f":
        return array.astype(np.float32)
    if array.dtype.kind in "iu":
        limits = np.iinfo(np.int32)
        if array.size == 0 or (array.min() >= limits.min and array.max() <= limits.max):
            return array.astype(np.int32)
    return None
