"""Events of the drawing components. All are checked: a browser may send anything."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, NotRequired, TypedDict

import streamlit as st

from encoder.views.model_parts import PARTS
from pages.base.work.whole_callbacks import whole
from pages.state import kept, url_state
from pages.state.params import ZoomWindow


class PlotEvent(TypedDict):
    """A click on a `plot`, or a key with the same effect. `axis`:

    "cell"   a cell of a map: `i` (query, row) and `j` (key, column) are integer token positions, `trace` its trace;
    "x", "y" a tick label of a token axis: `j` or `i` is the token's position;
    "point"  a point of another trace: `trace`, `point` (its index) and its coordinates `x`, `y`;
    "clear"  Esc or a double click.
    """

    event: Literal["click"]
    axis: Literal["cell", "x", "y", "point", "clear"]
    i: NotRequired[int]
    j: NotRequired[int]
    trace: NotRequired[int]
    point: NotRequired[int]
    x: NotRequired[Any]
    y: NotRequired[Any]
    shift: NotRequired[bool]


class GridEvent(TypedDict):
    """One event of `head_grid`.

    "open" has `layer`, `head` and `shift` (pressed while clicking); "pin" has `layer` and `head`; "clear" is Esc.
    """

    event: Literal["open", "pin", "clear"]
    layer: NotRequired[int]
    head: NotRequired[int]
    shift: NotRequired[bool]


class LinesEvent(TypedDict):
    """The tokens selected in `lines`, as positions in ascending order; both lists are empty after Esc."""

    event: Literal["select"]
    queries: list[int]
    keys: list[int]


class ShadeEvent(TypedDict):
    """The units selected in `text_shade`, in ascending order; empty after Esc."""

    event: Literal["select"]
    units: list[int]


class ModelEvent(TypedDict):
    """One event of `model_picture`, with positions in the whole input.

    "open" has `layer` and `head`; "select" has the tokens `query` and `key`, key None where only a query is selected,
    and `first`, the window that it is in, or None; "pan" has `first`, the first token of another window; "part" has the
    same as "select", the opened `part`, "" for none, whether its numbers are checked, and the chosen component or
    neuron, None for no change; "switch" has the `name` of a switch and whether it is `on`. `side`: "decoder" where the
    place is in the second river; a place there has the `source`, a token of the input in cross-attention, or None.
    """

    event: Literal["open", "select", "pan", "part", "switch"]
    first: NotRequired[int | None]
    part: NotRequired[str]
    check: NotRequired[bool]
    component: NotRequired[int | None]
    neuron: NotRequired[int | None]
    name: NotRequired[str]
    on: NotRequired[bool]
    layer: NotRequired[int]
    head: NotRequired[int]
    query: NotRequired[int]
    key: NotRequired[int | None]
    side: NotRequired[Literal["encoder", "decoder"]]
    source: NotRequired[int | None]


#: Makes an event of what the browser sent; None for anything else.
Decode = Callable[[object], Any]


def on_click(
    *,
    cell: Callable[[int, int], object] | None = None,
    row: Callable[[int], object] | None = None,
    column: Callable[[int], object] | None = None,
    point: Callable[[PlotEvent], object] | None = None,
    clear: Callable[[], object] | None = None,
) -> Callable[[PlotEvent], None]:
    """A function for a plot's `on_event` that calls one function for each kind of click.

    cell: gets (i, j) of a map's cell. row, column: get the token of a clicked tick label; without `cell`, also the
    cell's. point: gets the event of a point of another trace. clear: called after Esc or a double click.
    """

    def take(event: PlotEvent) -> None:
        axis = event["axis"]
        if axis == "cell" and cell is not None:
            cell(event["i"], event["j"])
            return
        if axis in ("cell", "y") and row is not None:
            row(event["i"])
        if axis in ("cell", "x") and column is not None:
            column(event["j"])
        if axis == "point" and point is not None:
            point(event)
        if axis == "clear" and clear is not None:
            clear()

    return take


def state(key: str) -> Mapping[str, Any]:
    """The last values from the browser for the component of this key; empty before it is drawn."""
    value = st.session_state.get(key)
    return value if isinstance(value, Mapping) else {}


def heard(key: str) -> int:
    """Number of the newest event of this component that `tell` has handled, also in the browser's earlier session."""
    number = st.session_state.get(f"{key}:heard", kept.heard())
    return int(number) if _is_index(number) else 0


def tell(key: str, name: str, decode: Decode, on_event: Callable[[Any], None] | None) -> None:
    """Calls `on_event` with each event of this name that it has not had yet, in their order."""
    tell_all(key, {name: decode}, on_event)


def tell_all(key: str, decoders: Mapping[str, Decode], on_event: Callable[[Any], None] | None) -> None:
    """The same for events of several names. decoders: name -> what makes an event of a value.

    The browser sends the newest events again with each further one; `id` shows which are handled. It counts the events
    of all names, and one message may hold several: they are taken in the order in which they happened.
    """
    with whole():
        url_state.touch()
        for decode, value in sorted(_sent(key, decoders), key=lambda one: _number(one[1]) or math.inf):
            event, number = decode(value), _number(value)
            if on_event is None or event is None or (number is not None and number <= heard(key)):
                continue
            if number is not None:
                st.session_state[f"{key}:heard"] = number
            on_event(event)


def _sent(key: str, decoders: Mapping[str, Decode]) -> list[tuple[Decode, object]]:
    """The values of these names: the newest ones of a drawing, or the one of a trigger."""
    known = state(key)
    values = {name: sent if isinstance(sent := known.get(name), list) else [sent] for name in decoders}
    return [(decoders[name], value) for name, of_name in values.items() for value in of_name]


def _number(value: object) -> int | None:
    """The number of an event; None for a value without one."""
    number = value.get("id") if isinstance(value, dict) else None
    return int(number) if _is_index(number) else None


def plot_click(value: object) -> PlotEvent | None:
    """A click as the browser sent it -> PlotEvent; None for anything else."""
    if not isinstance(value, dict):
        return None
    axis = value.get("axis")
    needed = {"cell": ("i", "j", "trace"), "x": ("j",), "y": ("i",), "point": ("trace", "point"), "clear": ()}
    if not isinstance(axis, str) or axis not in needed or any(not _is_index(value.get(name)) for name in needed[axis]):
        return None
    event: dict[str, Any] = {"event": "click", "axis": axis}
    event.update({name: int(value[name]) for name in needed[axis]})
    if axis == "point":
        event.update({name: value.get(name) for name in ("x", "y")})
    if axis != "clear":
        event["shift"] = value.get("shift") is True
    return event  # type: ignore[return-value]


def grid_event(value: object) -> GridEvent | None:
    """An event of the grid as the browser sent it; None for anything else."""
    if not isinstance(value, dict) or value.get("event") not in ("open", "pin", "clear"):
        return None
    if value["event"] == "clear":
        return {"event": "clear"}
    if not (_is_index(value.get("layer")) and _is_index(value.get("head"))):
        return None
    event: GridEvent = {"event": value["event"], "layer": int(value["layer"]), "head": int(value["head"])}
    if value["event"] == "open":
        event["shift"] = value.get("shift") is True
    return event


def model_event(name: str, value: object, header: Mapping[str, Any]) -> ModelEvent | None:
    """An event as the browser sent it, with places below the limits of the picture's header; None for another."""
    if not isinstance(value, dict):
        return None
    in_decoder = value.get("side") == "decoder" and "decoder" in header
    limits: Mapping[str, int] = header["decoder"] if in_decoder else header

    def at(place: str, limit: str) -> int | None:
        found = value.get(place)
        return int(found) if _is_index(found) and found < limits[limit] else None

    layer, head, query = at("layer", "layers"), at("head", "heads"), at("query", "count")
    first = at("first", "count")
    there: Any = {"side": "decoder", "source": at("source", "inputCount")} if in_decoder else {"side": "encoder"}
    if name == "open" and layer is not None and head is not None:
        return {"event": "open", "layer": layer, "head": head, **there}
    if name == "select" and query is not None:
        return {"event": "select", "query": query, "key": at("key", "count"), "first": first, **there}
    if name == "part" and value.get("part") in ("", *PARTS):
        chosen = {"component": at("component", "width"), "neuron": at("neuron", "neuronCount"), "first": first}
        return {
            "event": "part",
            "part": value["part"],
            "query": query,
            "key": at("key", "count"),
            "check": value.get("check") is True,
            **chosen,
            **there,
        }  # type: ignore[typeddict-item]
    if name == "switch" and isinstance(value.get("name"), str):
        return {"event": "switch", "name": value["name"], "on": value.get("on") is True}
    return {"event": "pan", "first": first} if name == "pan" and first is not None else None


def lines_event(value: object, counts: tuple[int, int]) -> LinesEvent | None:
    """A selection among so many queries and keys as the browser sent it; None for anything else.

    Positions beyond the tokens are dropped: the sentence may have become shorter since the click.
    """
    if not isinstance(value, dict):
        return None
    queries, keys = _positions(value.get("queries"), counts[0]), _positions(value.get("keys"), counts[1])
    return None if queries is None or keys is None else {"event": "select", "queries": queries, "keys": keys}


def text_event(value: object, count: int) -> ShadeEvent | None:
    """A selection among `count` units as the browser sent it, later ones dropped; None for anything else."""
    units = _positions(value.get("units"), count) if isinstance(value, dict) else None
    return None if units is None else {"event": "select", "units": units}


def _positions(value: object, count: int) -> list[int] | None:
    """Positions below `count`, ascending, each once; None for anything but a list of positions."""
    if not isinstance(value, list) or not all(_is_index(one) for one in value):
        return None
    return sorted({int(one) for one in value if one < count})


def zoom_window(value: object) -> ZoomWindow | None:
    """A zoom window as the browser sent it; None if it shows all or is invalid."""
    if not isinstance(value, Mapping):
        return None
    sides = [_range(value.get(name)) for name in ("x", "y")]
    return None if None in sides else {"x": sides[0], "y": sides[1]}  # type: ignore[typeddict-item]


def zoom_heard(value: object) -> int:
    """Number of the newest zoom that the browser sent, 0 before the first."""
    number = value.get("id") if isinstance(value, Mapping) else None
    return int(number) if _is_index(number) else 0  # type: ignore[arg-type]


def _range(value: object) -> list[float] | None:
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(_is_number(edge) for edge in value):
        return None
    low, high = sorted(float(edge) for edge in value)
    return [low, high] if low < high else None


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_index(value: object) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)  # type: ignore[operator, arg-type]
