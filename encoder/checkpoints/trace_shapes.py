"""Whether the parts of a file of a trace fit each other: its names, shapes and texts, before a tensor is read.

A file may come from anywhere. What is checked here would otherwise fail where a page or a measure uses it.

Shapes: L layers, H heads, K width of a head, T tokens, S tokens that a decoder reads, D d_model.
"""

from collections.abc import Mapping
from typing import Any

from encoder.checkpoints.json_fields import from_fields
from encoder.edits.base import MEMORY_POINTS
from encoder.errors import LoadError, TextError, quoted
from encoder.inputs.boxes import checked
from encoder.inputs.layout import Layout
from encoder.inputs.nodes import checked as checked_nodes
from encoder.inputs.nodes import spans_of
from encoder.inputs.text import Tokenized
from encoder.model.boxes import Boxes
from encoder.model.config import EncoderConfig
from encoder.model.hooks import LAYER_POINTS, OTHER_POINTS
from encoder.trace.capture import ON_REQUEST

#: Values that the forward pass also records.
MORE_POINTS = ("entering", "gate", "cross.gate", "bias_gate", "positions")
#: Of a stream of boxes.
BESIDE_POINTS = ("embedding.beside", "beside.q", "beside.k", "beside.out")
#: Of the embedding: their width may be another than D.
NARROW = (
    "embedding.tokens", "embedding.segments", "embedding.position", "embedding.places", "embedding_norm.input",
    "embedding",
)  # fmt: skip
Shapes = Mapping[str, tuple[int, ...]]


def check(about: Any, shapes: Shapes) -> None:
    """Raise LoadError for a part that does not fit. about: the JSON of the file; shapes: of its tensors by name."""
    if not isinstance(about, dict):
        raise _wrong("about", about)
    tokens = _texts(about, "tokens")
    n_tokens = len(tokens)
    if not n_tokens or len(_texts(about, "labels")) != n_tokens:
        raise _wrong("labels", about.get("labels"))
    _numbers(about, "ids", n_tokens)
    if not _is_whole(about.get("n_left_out")) or about["n_left_out"] < 0:
        raise _wrong("n_left_out", about.get("n_left_out"))
    if not isinstance(about.get("edits"), str):
        raise _wrong("edits", about.get("edits"))
    config = from_fields(EncoderConfig, about.get("config"), "config")
    n_memory = _check_decoder(about, shapes, n_tokens) if "next_ids" in about else None
    if shapes.get("mask") != (n_tokens,):
        raise _wrong("mask", shapes.get("mask"))
    values = {name.removeprefix("values/"): shape for name, shape in shapes.items() if name.startswith("values/")}
    _check_values(values, config, n_tokens, n_memory)
    if about.get("source") is not None:
        _check_source(about["source"], n_tokens, config)
        _check_places(about["source"].get("places"), n_tokens, config)
    _check_layout(about.get("layout"), n_tokens)
    if about.get("decoder") is not None:
        inside = {name.removeprefix("decoder/"): one for name, one in shapes.items() if name.startswith("decoder/")}
        if not isinstance(about["decoder"], dict) or "next_ids" not in about["decoder"]:
            raise _wrong("decoder", about["decoder"])
        check(about["decoder"], inside)


def source_of(fields: Any) -> Tokenized:
    """The text of a trace. Raises LoadError for a field of another type."""
    if not isinstance(fields, dict):
        raise _wrong("source", fields)
    found: Tokenized = from_fields(Tokenized, {name: tuples(value) for name, value in fields.items()}, "source")
    return found


def tuples(value: Any) -> Any:
    """A JSON value with tuples in the place of its lists."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def _check_decoder(about: dict[str, Any], shapes: Shapes, n_tokens: int) -> int:
    """The number of tokens that the decoder read."""
    n_memory = len(_texts(about, "memory_labels"))
    _numbers(about, "next_ids", n_tokens)
    if not _is_whole(about.get("n_prompt")) or not 1 <= about["n_prompt"] <= n_tokens:
        raise _wrong("n_prompt", about.get("n_prompt"))
    for name, wanted in (("memory_mask", (n_memory,)), ("log_probabilities", (n_tokens,))):
        if shapes.get(name) != wanted:
            raise _wrong(name, shapes.get(name))
    return n_memory


def _check_values(values: Shapes, config: EncoderConfig, n_tokens: int, n_memory: int | None) -> None:
    layers: dict[int, set[str]] = {}
    for name, shape in values.items():
        layer, point = _place(name)
        if layer is not None and layer >= config.n_layers:
            raise _wrong(name, f"layer {layer} of {config.n_layers}")
        if not _fits(point, shape, config, n_tokens, n_memory):
            raise _wrong(name, shape)
        if layer is not None and point in LAYER_POINTS + BESIDE_POINTS and point not in ON_REQUEST:
            layers.setdefault(layer, set()).add(point)
    needed = {"q", "k", "v"} | ({"cross.q", "cross.k", "cross.v"} if n_memory is not None else set())
    needed |= {"beside.q", "beside.k", "beside.out"} if config.beside is not None else set()
    for layer in range(config.n_layers):
        missing = (needed | layers.get(0, set())) - layers.get(layer, set())
        if missing:
            raise LoadError(f"This trace has no {sorted(missing)[0]} of layer {layer}: save it again.")
    for name in ("embedding", "output", *(["embedding.beside"] if config.beside is not None else [])):
        if name not in values:
            raise LoadError(f"This trace has no {name}: save it again.")


def _place(name: str) -> tuple[int | None, str]:
    """The layer and the hook point of a value."""
    first, _, rest = name.partition(".")
    number, _, point = rest.partition(".")
    if first == "layers" and number.isascii() and number.isdigit() and len(number) < 9:
        return int(number), point
    return None, name


def _fits(point: str, shape: tuple[int, ...], config: EncoderConfig, n_tokens: int, n_memory: int | None) -> bool:
    n_keys = n_memory if point.startswith(("cross.", "memory")) and n_memory is not None else n_tokens
    n_rows = n_keys if point in MEMORY_POINTS else n_tokens
    kind = point.removeprefix("cross.")
    if kind in ("q", "k", "v", "z"):
        return shape == (config.n_heads, n_rows, config.d_head) or (
            kind in "vz" and shape[:2] == (config.n_heads, n_rows)
        )
    if kind in ("scores", "pattern"):
        return shape == (config.n_heads, n_rows, n_keys)
    if point.endswith(".hidden") or point in NARROW:
        return len(shape) == 2 and shape[0] == n_rows
    if point == "memory":
        return len(shape) == 2 and shape[0] == n_keys
    if point in LAYER_POINTS or point in OTHER_POINTS:
        return shape == (n_rows, config.d_model)
    if point in BESIDE_POINTS:
        apart = config.beside
        of_heads = apart is not None and shape == (config.n_heads, n_tokens, apart.d_head)
        whole = apart is not None and shape == (n_tokens, apart.d_model)
        return of_heads if point[-2:] in (".q", ".k") else whole
    return point in MORE_POINTS and n_tokens in shape


def _check_source(fields: Any, n_tokens: int, config: EncoderConfig) -> None:
    source = source_of(fields)
    for name in ("ids", "tokens", "labels", "words", "segments", "special", "offsets"):
        if len(getattr(source, name)) != n_tokens:
            raise _wrong(f"source.{name}", f"{len(getattr(source, name))} values for {n_tokens} tokens")
    if not all(map(_is_whole, source.ids)):
        raise _wrong("source.ids", source.ids)
    longest = max(len(source.text), len(source.pair or ""))
    for place in source.offsets:
        if len(place) != 2 or not 0 <= place[0] <= place[1] <= longest:
            raise _wrong("source.offsets", place)
    if not all(-1 <= word < n_tokens for word in source.words) or not {*source.segments} <= {0, 1}:
        raise _wrong("source.words", source.words)
    if source.n_page_tokens != config.n_page_tokens or source.n_page_tokens > len(source):
        raise _wrong("source.n_page_tokens", source.n_page_tokens)
    if not _is_whole(source.n_full) or source.n_full < 0:
        raise _wrong("source.n_full", source.n_full)
    if source.nodes is not None:
        try:
            spans_of(source.text if source.pair is None else source.pair, checked_nodes(source.nodes))
        except TextError as error:
            raise _wrong("source.nodes", source.nodes) from error


def _check_places(places: Any, n_tokens: int, config: EncoderConfig) -> None:
    """Places of the tokens that the model accepts."""
    if places is None:
        return
    if config.places is None or not isinstance(places, list) or len(places) != n_tokens:
        raise _wrong("source.places", places)
    try:
        for place in places:
            if isinstance(config.places, Boxes):
                checked(place, config.places.largest)
            elif not isinstance(place, list) or not all(map(_is_whole, place)) or not config.places.has(tuple(place)):
                raise _wrong("source.places", place)
    except TextError as error:
        raise _wrong("source.places", place) from error


def _check_layout(layout: Any, n_tokens: int) -> None:
    """Sizes before anything of that size is made."""
    if layout is None:
        return
    if not isinstance(layout, dict) or not isinstance(layout.get("fields"), dict):
        raise _wrong("layout", layout)
    fields = layout["fields"]
    for name in ("rows", "columns", "n_steps"):
        if name in fields and (not _is_whole(fields[name]) or not 1 <= fields[name] <= n_tokens):
            raise _wrong(f"layout.{name}", fields[name])
    if fields.get("rows", 1) * fields.get("columns", 1) > n_tokens:
        raise _wrong("layout.rows", fields["rows"])


def fitting(layout: Layout, n_tokens: int) -> Layout:
    """The layout itself. Raises LoadError for one of another number of tokens."""
    if len(layout.special) != n_tokens:
        raise _wrong("layout", f"{len(layout.special)} tokens")
    return layout


def _texts(about: Mapping[str, Any], name: str) -> list[str]:
    found = about.get(name)
    if not isinstance(found, list) or not all(isinstance(one, str) and _is_unicode(one) for one in found):
        raise _wrong(name, found)
    return found


def _is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate, which JSON can name and no table can hold."""
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _numbers(about: Mapping[str, Any], name: str, length: int) -> None:
    found = about.get(name)
    if not isinstance(found, list) or len(found) != length or not all(map(_is_whole, found)):
        raise _wrong(name, found)


def _is_whole(value: object) -> bool:
    """Whether it is a whole number that a tensor can hold; true is none, in JSON as in Python."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _wrong(name: str, found: object) -> LoadError:
    return LoadError(f"This trace has {name}={quoted(found)}, which does not fit the rest of it: save it again.")
