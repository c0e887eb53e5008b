"""`python -m tests.javascript_types` writes the Python types of headers and events as TypeScript, for `deno check`.

A header is what the browser gets next to its arrays, an event what it sends back. Their types are TypedDicts, and have
the same names in JavaScript. `tests/test_javascript_types.py` compares the file with them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from encoder.drawing import headers as drawings
from pages.components import draw_boxes, events, headers, patch_map, rooms
from pages.state import params
from tests.conftest import ROOT

FILE = ROOT / "pages" / "components" / "python.d.ts"
MODULES = (drawings, params, headers, events, patch_map, draw_boxes, rooms)
SIMPLE = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "any",
    object: "unknown",
}
OPENING = """// The types of headers and events, as Python has them. `python -m tests.javascript_types` writes it.
// A header is what the browser gets next to its arrays, an event what it sends back.
"""


def aliases() -> dict[Any, str]:
    """Type -> its name, of unions and tuples that the drawings' headers name."""
    named = vars(drawings).items()
    return {value: name for name, value in named if get_origin(value) in (Literal, tuple) and not name.startswith("_")}


def typed_dicts() -> Iterator[type]:
    """Every TypedDict of the modules, each once."""
    for module in MODULES:
        yield from (one for one in vars(module).values() if is_typeddict(one) and one.__module__ == module.__name__)


def in_typescript(type_: Any, known: Mapping[Any, str]) -> str:
    """A Python type as TypeScript. known: types with a name of their own. Raises TypeError for another type."""
    origin, arguments = get_origin(type_), get_args(type_)
    if type_ in SIMPLE:
        return SIMPLE[type_]
    if type_ in known:
        return known[type_]
    if is_typeddict(type_):
        return type_.__name__
    if origin is Literal:
        return " | ".join(str(one).lower() if isinstance(one, bool) else f'"{one}"' for one in arguments)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(in_typescript(one, known) for one in arguments)
    if origin in (list, Sequence):
        return f"Array<{in_typescript(arguments[0], known)}>"
    if origin is tuple:
        return f"[{', '.join(in_typescript(one, known) for one in arguments)}]"
    if origin in (dict, Mapping):
        return f"Record<{', '.join(in_typescript(one, known) for one in arguments)}>"
    if origin is NotRequired:
        return in_typescript(arguments[0], known)
    raise TypeError(f"{type_} has no type in JavaScript: add it to tests/javascript_types.py.")


def declaration(one: type, known: Mapping[Any, str]) -> str:
    """A TypedDict as an interface."""
    optional = one.__optional_keys__  # type: ignore[attr-defined]
    fields = [
        f"  {name}{'?' if name in optional else ''}: {in_typescript(type_, known)};\n"
        for name, type_ in get_type_hints(one, include_extras=True).items()
    ]
    said = (one.__doc__ or "").strip().splitlines()[0]
    return f"\n/** {said} */\ninterface {one.__name__} {{\n{''.join(fields)}}}\n"


def written() -> str:
    """The whole file."""
    known = aliases()
    others = {name: {one: other for one, other in known.items() if other != name} for name in known.values()}
    named = [f"type {name} = {in_typescript(type_, others[name])};\n" for type_, name in known.items()]
    return OPENING + "\n" + "".join(named) + "".join(declaration(one, known) for one in typed_dicts())


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
