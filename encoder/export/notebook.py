"""Pictures in a notebook that hear clicks: `encoder.show`, for JupyterLab, VS Code and marimo.

The widget draws with the script of the app and of reports; the trace in the kernel gives the numbers of what is opened.
anywidget is an extra: without it, a notebook shows the same pictures, but their clicks reach no kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from encoder.drawing.javascript import SHARED, joined
from encoder.drawing.picture import Picture, figure_picture, style
from encoder.drawing.plotly_js import plotly_js
from encoder.errors import EncoderError
from encoder.explain.place import Place
from encoder.explain.reference import LONGEST_CHECK, Recomputation
from encoder.explain.score import Variant
from encoder.trace.trace import Trace
from encoder.views.lines import Lines
from encoder.views.map import Map
from encoder.views.model_parts import PARTS, with_parts
from encoder.views.model_picture import model_picture
from encoder.views.text import Text

if TYPE_CHECKING:
    from anywidget import AnyWidget

#: The traits of a widget: what is open and selected.
TRAITS = ("layer", "head", "query", "key")
#: What else a click changes, and its first value: the window, the open part, and how that is computed.
INSIDE = {
    "first": None,
    "part": "",
    "component": None,
    "neuron": None,
    "check": False,
    "scaled": True,
    "causal row": False,
    "side": "decoder",
    "output": None,
    "output_key": None,
    "source": None,
}
#: The query and the key of an event in the second river.
IN_DECODER = {"query": "output", "key": "output_key"}

Draw = Callable[[Mapping[str, Any]], Picture]


def show(
    subject: Trace | Lines | Text | Map | Picture,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    **options: Any,
) -> AnyWidget:
    """A picture as a notebook's widget.

    Args:
        subject: a Trace: the whole model at work on its input; or a view of `encoder.export`: `lines`, `text`, `map`,
            or a picture, as `grid` and `model` make them.
        layer, head: opened. query, key: selected tokens. All four are traits: a click changes them, and a change in
            Python draws the picture again.
        options: of `encoder.export.model`, for a Trace: pooling, given, classes, pair.

    Raises EncoderError without the package anywidget, and for a layer, head or option that does not exist.
    """
    chosen = {"layer": layer, "head": head, "query": query, "key": key, **INSIDE}
    if isinstance(subject, Trace):
        return _widget(chosen, partial(of_trace, subject, options))
    if options:
        raise EncoderError(f"{', '.join(options)}: only the picture of a Trace has options. Leave them out.")
    return _widget(chosen, lambda _: picture_of(subject))


def picture_of(subject: Trace | Lines | Text | Map | Picture, **options: Any) -> Picture:
    """What `show` draws. Raises EncoderError for an object that has no picture."""
    if isinstance(subject, Trace):
        return model_picture(subject, **options)
    if isinstance(subject, Map):
        places = [[int(place) for place in side] for side in subject.shown.places]
        return figure_picture(subject.figure(), name=subject.name, places=places)
    if isinstance(subject, Lines | Text):
        return subject.picture()
    if isinstance(subject, Picture):
        return subject
    raise EncoderError(f"{type(subject).__name__} has no picture: specify a trace, or a view of encoder.export.")


def of_trace(trace: Trace, options: Mapping[str, Any], chosen: Mapping[str, Any]) -> Picture:
    """The whole model, with the numbers of the open part."""
    places = {name: chosen[name] for name in ("layer", "head", "query", "key", "first")}
    selected = chosen["output"], chosen["output_key"]
    picture = model_picture(trace, **places, side=chosen["side"], output=selected, **options)
    if not chosen["part"]:
        return picture
    place = Place(chosen["layer"], chosen["head"], chosen["query"] or 0, chosen["key"] or 0)
    if trace.decoder is not None and chosen["side"] == "decoder":
        place = replace(place, query=selected[0] or 0, key=selected[1] or 0)
        trace = trace.decoder
        place = place.clamped(trace.config, trace.n_tokens)
    causal = True if chosen["causal row"] or trace.config.causal else None
    can_check = trace.n_tokens <= LONGEST_CHECK and trace.memory is None
    return with_parts(
        picture,
        trace,
        place,
        part=chosen["part"],
        component=chosen["component"],
        neuron=chosen["neuron"],
        pooling=options.get("pooling", "own"),
        variant=Variant(scaled=chosen["scaled"], causal=causal),
        reference=Recomputation(trace) if chosen["check"] and can_check else None,
        why_not=""
        if can_check or not chosen["check"]
        else f"The check is limited to encoders and to {LONGEST_CHECK:,} tokens.",
        source=chosen["source"],
    )


@cache
def script() -> str:
    """The widget's module: the drawings of the app, and the bundle of Plotly for maps."""
    return f"{plotly_js()}\n{joined(SHARED / 'notebook.js')}"


def _widget(chosen: Mapping[str, Any], draw: Draw) -> AnyWidget:
    return _widget_class()(draw, chosen)


@cache
def _widget_class() -> Any:
    """The class of all widgets. Raises EncoderError where anywidget is missing."""
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise EncoderError(
            "A widget needs the package anywidget: install it with pip install 'encoderscope[notebook]'. "
            "Without it, trace.save_html(file) saves the same picture."
        ) from None

    class PictureWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """One picture. Its bytes travel once for each change; all that a pointer does stays in the browser."""

        _esm = script()
        _css = style()
        kind = traitlets.Unicode().tag(sync=True)
        block = traitlets.Bytes().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        layer, head = traitlets.Int(), traitlets.Int()
        query, key = traitlets.Int(None, allow_none=True), traitlets.Int(None, allow_none=True)

        def __init__(self, draw: Draw, chosen: Mapping[str, Any]) -> None:
            self._draw, self._chosen = draw, dict(chosen)
            picture = draw(chosen)
            traits = {name: chosen[name] for name in TRAITS}
            super().__init__(kind=picture.kind, block=picture.block(), height=picture.height, **traits)
            self.on_msg(lambda _, message, __: self._choose(choices_of(message)))
            self.observe(lambda change: self._choose({change["name"]: change["new"]}), names=list(TRAITS))

        def _choose(self, choices: Mapping[str, Any]) -> None:
            """Draws what is chosen now; what cannot be drawn is taken back."""
            before, self._chosen = self._chosen, {**self._chosen, **choices}
            try:
                if self._chosen != before:
                    self.block = self._draw(self._chosen).block()
            except EncoderError:
                self._chosen = before
                raise
            finally:
                for name in TRAITS:
                    setattr(self, name, self._chosen[name])

    return PictureWidget


def choices_of(message: object) -> dict[str, Any]:
    """An event of the browser as choices; what is none is left out, since a notebook's page may send anything."""
    event = message.get("event") if isinstance(message, dict) else None
    if not isinstance(event, dict):
        return {}
    if "queries" in event:  # of lines: several may be selected, the first is the trait
        firsts = {"query": event["queries"], "key": event.get("keys")}
        event = {name: found[0] if isinstance(found, list) and found else None for name, found in firsts.items()}
    if event.get("side") == "decoder":
        event = {IN_DECODER.get(name, name): value for name, value in event.items()}
    if event.get("name") in INSIDE:  # a switch of the open part
        event = {event["name"]: event.get("on")}
    return {name: event[name] for name in (*TRAITS, *INSIDE) if name in event and _is_choice(name, event[name])}


def _is_choice(name: str, value: object) -> bool:
    if name in ("part", "side"):
        return value in (("", *PARTS) if name == "part" else ("encoder", "decoder"))
    if isinstance(INSIDE.get(name), bool):
        return isinstance(value, bool)
    if value is None:
        return name not in ("layer", "head")
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
