"""Edits as a short text for links, and back: `parse(format(edits)) == edits`.

Edits are joined by "~", the fields of one by "_": "ablate_l1_h3~scale_oz_x0.5_l2_h0-4". The first letter of a field is
its name. A field that has its default value is left out. All characters but a text's own stay as they are in a link.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

from encoder.edits.base import FLAGS, INDEX, INDICES, Edit
from encoder.edits.other_runs import RUN_EDITS
from encoder.edits.positions import POSITION_EDITS
from encoder.edits.scores import ATTENTION_EDITS
from encoder.edits.values import VALUE_EDITS
from encoder.errors import EncoderError, quoted

LETTERS = {
    "layer": "l", "head": "h", "heads": "h", "query": "q", "key": "k", "keys": "k", "point": "o", "value": "x",
    "vector": "v", "positions": "p", "components": "c", "source": "s", "sources": "s", "function": "f", "seed": "n",
    "order": "p", "cross": "m",
}  # fmt: skip
KINDS = {kind.code: kind for kind in (*VALUE_EDITS, *RUN_EDITS, *ATTENTION_EDITS, *POSITION_EDITS) if kind.code}
#: A link has at most this many edits.
MOST_EDITS = 64


def format(edits: Sequence[Edit]) -> str:
    """Edits -> text. Raises EncoderError for an edit that only Python has: a function, or a Trace as a source."""
    return "~".join(_format(edit) for edit in edits)


def parse(text: str) -> tuple[Edit, ...]:
    """Text -> edits. Raises EncoderError for a text that `format` did not write."""
    parts = text.split("~") if text else []
    if len(parts) > MOST_EDITS:
        raise EncoderError(f"The link has {len(parts)} edits: use at most {MOST_EDITS}.")
    return tuple(_parse(part) for part in parts)


def _format(edit: Edit) -> str:
    if edit.code not in KINDS or callable(getattr(edit, "function", None)):
        raise EncoderError(
            f"{type(edit).__name__} holds a Python function, which travels in a link by its name only: register it."
        )
    parts = [edit.code]
    for field in dataclasses.fields(edit):  # type: ignore[arg-type]
        value = getattr(edit, field.name)
        if field.default is dataclasses.MISSING or value != field.default:
            parts.append(LETTERS[field.name] + _written(field.name, value))
    return "_".join(parts)


def _written(name: str, value: Any) -> str:
    if name in INDEX + FLAGS:
        return str(int(value))
    if name in INDICES:
        return "-".join(map(str, value))
    if name == "value":
        return repr(value)
    if name == "vector":
        return ",".join(map(repr, value))
    if name == "sources":
        return ",".join(_quoted(one) for one in value)
    return _quoted(value)


def _quoted(text: Any) -> str:
    if not isinstance(text, str):
        raise EncoderError("A recorded run cannot travel in a link: specify its text as the source.")
    # A hook point's name has no "-", and "_" and "~" are separators.
    return quote(text, safe=" ", errors="surrogatepass").replace("-", "%2D").replace("_", "-").replace("~", "%7E")


def _parse(text: str) -> Edit:
    code, *parts = text.split("_")
    kind = KINDS.get(code)
    if kind is None:
        raise EncoderError(f"The link has an unknown edit {quoted(code)}: choose from {', '.join(KINDS)}.")
    names = {LETTERS[field.name]: field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for part in parts:
        name = names.get(part[:1])
        if name is None or name in values:
            raise EncoderError(
                f"The link has an edit {quoted(text)} that does not fit {kind.__name__}: make the edit again."
            )
        values[name] = _read(kind.__name__, name, part[1:])
    try:
        return kind(**values)
    except TypeError:
        missing = [field.name for field in dataclasses.fields(kind) if field.name not in values]  # type: ignore[arg-type]
        raise EncoderError(f"The link's {kind.__name__} needs {', '.join(missing)}: make the edit again.") from None


def _read(kind: str, name: str, text: str) -> Any:
    try:
        if name in INDEX:
            return int(text)
        if name in FLAGS:
            return bool(int(text))
        if name in INDICES:
            return tuple(int(one) for one in text.split("-")) if text else ()
        if name == "value":
            return float(text)
        if name == "vector":
            return tuple(float(one) for one in text.split(",")) if text else ()
    except ValueError:
        raise EncoderError(f"The link's {kind} has {name}={quoted(text)}: specify a number.") from None
    if name == "sources":
        return tuple(_unquoted(one) for one in text.split(","))
    return _unquoted(text)


def _unquoted(text: str) -> str:
    return unquote(text.replace("-", "_"), errors="surrogatepass")
