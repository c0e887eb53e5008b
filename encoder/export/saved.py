"""A picture as a file that opens by a double click, without a server or a network."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from encoder import disk
from encoder.documents.document import Section, document
from encoder.drawing.picture import Picture
from encoder.explain.place import Place
from encoder.export.notebook import INSIDE, of_trace, picture_of
from encoder.export.report import footer, typed
from encoder.trace.decoder import DecoderTrace
from encoder.trace.trace import Trace
from encoder.views.lines import Lines
from encoder.views.map import Map
from encoder.views.model_parts import with_parts
from encoder.views.text import Text

#: Bytes of the layers and heads that a file holds; beyond, it has each layer with one head, and one layer's heads.
MOST_BYTES = 3_000_000


def save_html(
    subject: Trace | Lines | Text | Map | Picture,
    file: str | Path,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    **options: Any,
) -> Path:
    """Saves what `encoder.show` draws as an HTML file, and returns its path.

    A file of a Trace holds the arithmetic of the selected tokens. It opens every layer and head, or, if these have more
    than MOST_BYTES, every layer with this head and all heads of this layer. Arguments are those of `show`.

    Raises EncoderError as `show` does, and SaveError if the file cannot be written.
    """
    disk.check_output(file)
    return disk.write_file(file, page(subject, layer, head, query, key, **options))


def page(
    subject: Trace | Lines | Text | Map | Picture,
    layer: int = 0,
    head: int = 0,
    query: int | None = None,
    key: int | None = None,
    link: str = "",
    **options: Any,
) -> str:
    """What `save_html` saves. link: the address of the same view in the app, for a line at the end."""
    others: dict[str, Picture] = {}
    if isinstance(subject, Trace):
        chosen = {"layer": layer, "head": head, "query": query, "key": key, **INSIDE}
        picture, others = _opened(subject, options, chosen), _others(subject, options, chosen)
        title = str(options.get("model") or "The model at work")
        text = typed(subject) if subject.layout is None else ""  # names of patches or of time steps say nothing
    else:
        picture = picture_of(subject, **options)
        title, text = str(picture.header["name"]), ""
    section = Section("", picture=picture, others=others)
    return document(title, [section], text=text, link=link, footer=footer())


def _opened(trace: Trace, options: Mapping[str, Any], chosen: Mapping[str, Any]) -> Picture:
    """The picture with the numbers of every part; none of them is open at first."""
    query = chosen["query"] or 0
    row = trace.attention(chosen["layer"], chosen["head"], slice(query, query + 1))[0]
    key = int(row.argmax()) if chosen["key"] is None else chosen["key"]
    known = of_trace(trace, options, {**chosen, "query": query, "key": key, "part": "softmax", "side": "encoder"})
    asked = {name: None for name in ("query", "key") if chosen[name] is None}  # nothing is selected then
    header: dict[str, Any] = {**known.header, "part": "", **asked}
    decoder = trace.decoder
    if isinstance(decoder, DecoderTrace):
        place = Place(chosen["layer"], chosen["head"], decoder.n_prompt - 1).clamped(decoder.config, decoder.n_tokens)
        known = with_parts(known, decoder, place, part="cross")
        header |= {"side": chosen["side"], "decoder": {**known.header["decoder"], "part": ""}}  # type: ignore[dict-item]
    return replace(known, header=header)


def _others(trace: Trace, options: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Picture]:
    """ "layer head" -> the picture of it."""
    layers, heads = range(trace.config.n_layers), range(trace.config.n_heads)
    each = len(of_trace(trace, options, chosen).block())
    own = chosen["layer"], chosen["head"]
    wanted = [(layer, head) for layer in layers for head in heads]
    if each * len(wanted) > MOST_BYTES:
        wanted = [place for place in wanted if place[0] == own[0] or place[1] == own[1]]
    places = (dict(zip(("layer", "head"), place, strict=True)) for place in wanted)
    return {f"{at['layer']} {at['head']}": of_trace(trace, options, {**chosen, **at}) for at in places}
