"""A Run as the values of an address, and back: what a link, a lesson's step, a room and a published page hold.

Names in an address never change their meaning. A page's own values travel next to those of its run: `Link`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from encoder import edits as editing
from encoder.checkpoints import BUNDLED
from encoder.errors import EncoderError, quoted
from encoder.inputs import boxes as texts_of_boxes
from encoder.inputs import nodes as texts_of_nodes
from encoder.inputs.layout import InputKind
from encoder.model.config import NORM_PLACEMENTS
from encoder.model.device import DEVICES, DTYPES
from encoder.run.untrained import Untrained
from encoder.run.values import DECODER, TRAINED, UNTRAINED, Media, ModelSpec, Place, Run, Text

#: What marks an edit that is switched off.
OFF = "!"
#: The app's page at "/", whose address has START; without START, a view at "/" is one of HEADS.
HOME, HEADS, START = "model", "heads", "start"
#: Where `encoderscope` serves the app on this machine.
APP = "http://localhost:8501"

#: Name in the address -> field of Place.
PLACES = {"layer": "layer", "head": "head", "i": "query", "j": "key"}
#: Name in the address -> field of Untrained.
UNTRAINED_NAMES = {
    "layers": "layers",
    "heads": "heads",
    "width": "width",
    "ffn": "ffn",
    "positions": "positions",
    "untrained_norm": "norm_kind",
    "untrained_sandwich": "sandwich",
    "untrained_attention": "attention",
    "activation": "activation",
    "gated": "gated",
    "seed": "seed",
}
#: All names that a run has in an address; any other belongs to a page.
NAMES = frozenset(
    {
        "model",
        "source",
        "run",
        "tower",
        "norm",
        "device",
        "dtype",
        "text",
        "pair",
        "boxes",
        "nodes",
        "page_image",
        "image",
        "sound",
        "video",
        "long",
    }
    | {"window", "stride", "pad", "padding", "edits", "stack", "output", *PLACES, *UNTRAINED_NAMES}
)


def read(values: Mapping[str, str]) -> Run:
    """The run that the values of an address name. Names of a page are passed over.

    Raises EncoderError for a value that is none.
    """
    place = {field: whole_number(values, name) for name, field in PLACES.items()}
    target = values.get("output") or None
    return Run(read_model(values), read_input(values), target, read_edits(values.get("edits", "")), Place(**place))


def read_model(values: Mapping[str, str]) -> ModelSpec:
    """The model that the values of an address name. Raises EncoderError for a value that is none."""
    name = values.get("model", "minilm")
    untrained, source = None, name
    if name == UNTRAINED:
        untrained = read_untrained(values)
    elif name == "trained":
        source = TRAINED + values.get("run", "")
    elif name == "other" or name not in BUNDLED:
        source = values.get("source", "") or ("" if name == "other" else name)
    return ModelSpec(
        source=source,
        tower=DECODER if values.get("stack") == DECODER else values.get("tower", ""),
        untrained=untrained,
        norm=_choice(values, "norm", "trained", ("trained", *NORM_PLACEMENTS)),
        device=_choice(values, "device", "auto", DEVICES),
        dtype=_choice(values, "dtype", "float32", tuple(DTYPES)),
    )


def read_untrained(values: Mapping[str, str]) -> Untrained:
    """The untrained architecture that the values of an address name. Raises EncoderError for a value that is none."""
    made: dict[str, Any] = {}
    for name, field in UNTRAINED_NAMES.items():
        if name not in values:
            continue
        usual, given = getattr(Untrained(), field), values[name]
        if isinstance(usual, bool):
            made[field] = _flag(values, name)
        elif isinstance(usual, int):
            made[field] = whole_number(values, name)
        else:
            made[field] = tuple(filter(None, given.split(","))) if isinstance(usual, tuple) else given
    return Untrained(**made)


def read_input(values: Mapping[str, str]) -> Text | Media:
    """The input that the values of an address name, of the kind that the model accepts, as far as the address says.

    A model that does not ship is taken for one of text, unless the values have an image or a sound and no text.
    """
    kind = _kind(values)
    if kind != "text":
        return Media(kind, values.get(kind, ""))
    slides = values.get("long") == "windows"
    return Text(
        values.get("text", ""),
        values.get("pair") or None,
        window=(whole_number(values, "window") or 0) if slides else None,
        stride=whole_number(values, "stride") if slides else None,
        pad_to=whole_number(values, "pad"),
        padding=_flag(values, "padding"),
        boxes=texts_of_boxes.read_short(values["boxes"]) if values.get("boxes") else None,
        nodes=texts_of_nodes.read_short(values["nodes"]) if values.get("nodes") else None,
        page=values.get("page_image") or None,
    )


def _kind(values: Mapping[str, str]) -> InputKind:
    tower = values.get("tower", "")
    shipped = BUNDLED.get(values.get("model", "minilm"))
    if shipped is not None:
        return next((kind for kind in shipped.kinds if kind == tower), shipped.kinds[0])
    kinds: tuple[InputKind, ...] = ("image", "sound", "video")
    return next((kind for kind in kinds if kind == tower or (values.get(kind) and "text" not in values)), "text")


def read_edits(text: str) -> tuple[editing.Edit, ...]:
    """The edits of an address that are switched on. Raises EncoderError for a text that names none."""
    return editing.parse("~".join(part for part in text.split("~") if not part.startswith(OFF)))


def write(run: Run) -> dict[str, str]:
    """The values of an address that name a run; those that `read` takes for granted are left out.

    Raises EncoderError for edits that only Python has.
    """
    values = {**_model_values(run.model), **_input_values(run)}
    if run.edits:
        values["edits"] = editing.format(run.edits)
    if isinstance(run.target, str) and run.target:
        values["output"] = run.target
    for name, field in PLACES.items():
        if (place := getattr(run.place, field)) is not None:
            values[name] = str(place)
    return values


def write_text(run: Run) -> str:
    """`write` as the query of an address: "text=A+cat&layer=2"."""
    return urlencode(write(run))


def _model_values(model: ModelSpec) -> dict[str, str]:
    if model.source.startswith(TRAINED):
        values = {"model": "trained", "run": model.source.removeprefix(TRAINED)}
    elif model.source in BUNDLED or model.source == UNTRAINED:
        values = {"model": model.source}
    else:
        values = {"model": "other", "source": model.source}
    if model.untrained is not None:
        usual = Untrained()
        for name, field in UNTRAINED_NAMES.items():
            value = getattr(model.untrained, field)
            if value != getattr(usual, field):
                values[name] = ",".join(value) if isinstance(value, tuple) else str(_plain(value))
    if model.tower == DECODER:
        values["stack"] = DECODER
    elif model.tower:
        values["tower"] = model.tower
    for name in ("norm", "device", "dtype"):
        if getattr(model, name) != getattr(ModelSpec(), name):
            values[name] = getattr(model, name)
    return {name: value for name, value in values.items() if (name, value) != ("model", "minilm")}


def _input_values(run: Run) -> dict[str, str]:
    own = run.input
    if isinstance(own, Media):
        return {own.kind: own.name} if own.kind in ("image", "sound", "video") else {}
    windows = {} if own.window is None else {"long": "windows", "window": own.window, "stride": own.stride}
    boxes = None if own.boxes is None else texts_of_boxes.write_short(own.boxes)
    nodes = None if own.nodes is None else texts_of_nodes.write_short(own.nodes)
    values = {"text": own.text, "pair": own.pair, "boxes": boxes, "nodes": nodes, "page_image": own.page, **windows}
    values |= {"pad": own.pad_to, "padding": own.padding or None}
    return {name: str(_plain(value)) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    """A switch as 1 or 0; any other value itself."""
    return int(value) if isinstance(value, bool) else value


def whole_number(values: Mapping[str, str], name: str) -> int | None:
    """The whole number of this name, or None. Raises EncoderError for a value that is none."""
    text = values.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise EncoderError(f"The link has {name}={quoted(text)}: enter a whole number from 0.")
    return int(text)


def _flag(values: Mapping[str, str], name: str) -> bool:
    return _choice(values, name, "0", ("0", "1")) == "1"


def _choice(values: Mapping[str, str], name: str, usual: str, known: tuple[str, ...]) -> str:
    text = values.get(name, usual)
    if text not in known:
        raise EncoderError(f"The link has {name}={quoted(text)}: choose one of {', '.join(known)}.")
    return text


@dataclass(frozen=True)
class Link:
    """What a link of the app shows: a page, its run, and the values of the page itself."""

    page: str
    run: Run
    #: As in the address, without those of the run.
    own: Mapping[str, str] = dataclasses.field(default_factory=lambda: MappingProxyType({}))

    @property
    def values(self) -> dict[str, str]:
        """All values of the address."""
        return {**write(self.run), **self.own}

    @property
    def address(self) -> str:
        """The link, on this machine."""
        values = self.values
        place = "" if self.page == HOME else self.page
        return f"{APP}/{place}?{urlencode({START: '1', **values} if self.page == HOME else values)}"


def read_link(link: str) -> Link:
    """The link "http://server/heads?text=A+cat&layer=2", whatever the server before it. Raises EncoderError."""
    parts = urlsplit(link)
    values = dict(parse_qsl(parts.query))
    at_root = HOME if values.pop(START, "") else HEADS
    page = parts.path.strip("/").rpartition("/")[2] or at_root
    own = {name: value for name, value in values.items() if name not in NAMES}
    return Link(page, read(values), MappingProxyType(own))
