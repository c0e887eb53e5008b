"""modules.json and router_config.json of sentence-transformers -> the modules of each side, in order.

A Router sends a text to one of several lists of modules by its task ("query", "document") or by its kind ("text").
The modules after it are those of every side.
"""

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoder.checkpoints.places import inside
from encoder.errors import LoadError, quoted
from encoder.inputs.json_file import parse_json, read_json

#: Modules that modules.json, or a route, may list; routes of a Router.
MOST_MODULES, MOST_ROUTES = 20, 10
#: Packages whose modules are known.
PACKAGES = ("sentence_transformers.", "pylate.models.")
#: Modules that change nothing in eval mode, or that the classification head does here.
IGNORED = ("Dropout", "LogitScore")
#: Other names of modules.
FORMER = {"MLMTransformer": "Transformer", "Asym": "Router", "IDF": "SparseStaticEmbedding"}
#: Folders of these are not needed: they may have no settings.
WITHOUT_FILES = (*IGNORED, "Normalize")
#: The orders of modules that are read: a pattern over their names, and the same for people.
ORDERS = {
    "Pooling": (
        r"Transformer( WeightedLayerPooling)?( (Dense|Normalize))*( Pooling)?( (Dense|Normalize|LayerNorm))*"
        r"( SparseAutoEncoder)?",
        "Transformer, WeightedLayerPooling, Pooling, SparseAutoEncoder, with any number of Dense, Normalize and "
        "LayerNorm after Pooling",
    ),
    "StaticEmbedding": (
        r"StaticEmbedding( (Dense|Normalize|LayerNorm))*( SparseAutoEncoder)?",
        "StaticEmbedding, SparseAutoEncoder, with any number of Dense, Normalize and LayerNorm between them",
    ),
    "SpladePooling": (r"Transformer SpladePooling", "Transformer, SpladePooling"),
    "SparseStaticEmbedding": (r"SparseStaticEmbedding", "SparseStaticEmbedding"),
    "MultiVectorMask": (
        r"Transformer( (Dense|Normalize))* MultiVectorMask( HierarchicalTokenPooling)?",
        "Transformer, MultiVectorMask, HierarchicalTokenPooling, with any number of Dense and Normalize before "
        "MultiVectorMask",
    ),
}
KNOWN = ("Transformer", *ORDERS, "Dense", "Normalize", "LayerNorm", "WeightedLayerPooling", "SparseAutoEncoder",
         "HierarchicalTokenPooling", "Router", *IGNORED)  # fmt: skip


@dataclass(frozen=True)
class Module:
    """A module of modules.json: its class, and its folder."""

    kind: str
    place: Path


def read_modules(folder: Path) -> Mapping[str, tuple[Module, ...]] | None:
    """The modules of each side, in order; "" is that of a text without a role. None: no modules.json.

    Raises LoadError for an unknown module, and for an order that is none of ORDERS.
    """
    path = folder / "modules.json"
    if not path.is_file():
        return None
    listed = parse_json(path)
    if not isinstance(listed, list) or not all(isinstance(module, dict) for module in listed) or not listed:
        raise LoadError(f"modules.json in {folder.name} is not a list of modules: download it again.")
    if len(listed) > MOST_MODULES:
        raise LoadError(f"modules.json in {folder.name} has {len(listed):,} modules: at most {MOST_MODULES} are read.")
    found = [_module(folder, str(one.get("type", "")), str(one.get("path", ""))) for one in listed]
    if found[0].kind != "Router":
        sides = {"": found}
    else:
        sides = {side: [*route, *found[1:]] for side, route in _routes(found[0].place).items()}
    return {side: _in_order(modules) for side, modules in sides.items()}


def _module(folder: Path, path_of_class: str, name: str) -> Module:
    kind = kind_of_module(path_of_class)
    if kind not in KNOWN:
        raise LoadError(
            f"This checkpoint's modules.json has an unknown module {quoted(kind)}: choose a checkpoint of "
            f"{', '.join(KNOWN)} modules."
        )
    is_there = kind not in WITHOUT_FILES or (folder / name / "config.json").is_file()
    return Module(kind, inside(folder, name if is_there else ""))


def kind_of_module(name: str) -> str:
    """The class of a module without its package. Raises LoadError for a class of another package: its code may do
    anything."""
    if not name.startswith(PACKAGES):
        raise LoadError(
            f"This checkpoint's modules.json has the module {quoted(name)}, which is code of its own: this program has "
            "only the modules of sentence-transformers. To see its encoder, load it there as model, and call "
            "encoder.wrap(model[0].auto_model, model.tokenizer)."
        )
    kind = name.rsplit(".", 1)[-1]
    return FORMER.get(kind, kind)


def _in_order(modules: Iterable[Module]) -> tuple[Module, ...]:
    """The modules that compute something. Raises LoadError for an order that is none of ORDERS."""
    found = tuple(one for one in modules if one.kind not in IGNORED)
    kinds = [one.kind for one in found]
    pattern, order = ORDERS[next((kind for kind in kinds if kind in ORDERS), "Pooling")]
    if not re.fullmatch(pattern, " ".join(kinds)):
        raise LoadError(
            f"This checkpoint's modules.json has the modules {', '.join(kinds)}: choose one with the order {order}."
        )
    return found


# --- sides ------------------------------------------------------------------------------------------------------------


def _routes(folder: Path) -> dict[str, list[Module]]:
    """The modules of each route that a text takes, by its task; "" without a task.

    Raises LoadError for a file that describes no Router, and for a Router without a route for texts.
    """
    name = next((one for one in ("router_config.json", "config.json") if (folder / one).is_file()), None)
    if name is None:
        raise LoadError(f"{folder.name} has a Router without router_config.json: download it again.")
    fields = read_json(folder / name)
    types, structure, settings = (fields.get(key) for key in ("types", "structure", "parameters"))
    if not isinstance(types, dict) or not isinstance(structure, dict) or not structure:
        raise LoadError(f"{name} in {folder.name} has no types and structure of modules: download it again.")
    settings = settings if isinstance(settings, dict) else {}
    if len(structure) > MOST_ROUTES:
        raise LoadError(f"{name} in {folder.name} has {len(structure)} routes: at most {MOST_ROUTES} are read.")
    for route, names in structure.items():
        if not isinstance(names, list) or not 1 <= len(names) <= MOST_MODULES or not set(map(str, names)) <= set(types):
            raise LoadError(f"{name} has the route {quoted(route)}={quoted(names)}: specify modules of its types.")
    mapped = _mappings(settings.get("route_mappings") or {}, structure, name)
    default = settings.get("default_route") or (
        next(iter(structure)) if settings.get("allow_empty_key", True) else None
    )
    tasks = dict.fromkeys(["query", "document", *structure, *(task for task, _ in mapped if task is not None)])
    taken = {"": _route(None, mapped, structure, default)} | {
        task: _route(task, mapped, structure, None) for task in tasks if task not in ("text", "image")
    }
    texts = {task: route for task, route in taken.items() if route is not None}
    if not texts or (texts.keys() == {""} and len(structure) > 1):
        raise LoadError(f"The Router of {folder.name} has no route for texts: choose another checkpoint.")
    texts.setdefault("", next(iter(texts.values())))
    made = {
        route: [_module(folder, str(types[one]), one) for one in map(str, structure[route])]
        for route in dict.fromkeys(texts.values())
    }
    return {task: made[route] for task, route in texts.items()}


def _mappings(given: Any, structure: Mapping[str, Any], name: str) -> dict[tuple[str | None, Any], str]:
    """route_mappings: (task, kind of input) -> route, written as Python's tuples."""
    found: dict[tuple[str | None, Any], str] = {}
    for key, route in given.items() if isinstance(given, dict) else ():
        try:
            task, kind = ast.literal_eval(str(key)[:200])
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise LoadError(f"{name} has route_mappings with {quoted(key)}: specify a task and a modality.") from None
        if route not in structure:
            raise LoadError(f"{name} sends {quoted(key)} to {quoted(route)}, which is none of its routes: correct it.")
        found[task, kind] = route
    return found


def _route(
    task: str | None,
    mapped: Mapping[tuple[str | None, Any], str],
    structure: Mapping[str, Any],
    default: Any,
) -> str | None:
    """The route of a text with a task, in the order that sentence-transformers asks; None: it raises an error."""
    for key in ((task, "text"), (task, None), (None, "text"), (None, None)):
        if key in mapped:
            return mapped[key]
    return next((one for one in (task, "text", default) if one in structure), None)
