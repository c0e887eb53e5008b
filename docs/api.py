"""The Python interface as pages of `make docs`: one for the names of `encoder`, one for each public module.

Docstrings here are plain text. A sentence "name: what it is" becomes an entry of a list, "Raises ..." stands apart, and
code that names something public becomes a link to it.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from sphinx.pycode import ModuleAnalyzer

import encoder

HEADING = """# The Python interface

Generated from the docstrings; [What stays](../stable.md) says which names are stable. Shapes: L layers, H heads,
T tokens, D width, K width of a head, F width of the feed-forward layer.
"""
#: The sections of a page -> the directive of their names.
SECTIONS = {"Functions": "autofunction", "Classes": "autoclass", "Errors": "autoexception", "Values": "data"}
LONGEST_VALUE = 90
SENTENCE_END = re.compile(r"(?<=\.) (?=[A-Z`\[])")


def modules() -> dict[str, ModuleType]:
    """The page's name -> its module: `encoder`, then its public modules."""
    found = {name: getattr(encoder, name) for name in encoder.__all__}
    return {"encoder": encoder} | {name: found[name] for name in sorted(found) if inspect.ismodule(found[name])}


def public(module: ModuleType) -> list[str]:
    """The module's `__all__`; of one without, the functions and classes that it defines."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return getattr(module, "__all__", None) or [name for name in own if not name.startswith("_")]


def names(module: ModuleType) -> dict[str, dict[str, Any]]:
    """Section -> public name -> value, in the alphabet's order. Modules have pages or sections of their own."""
    found: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for name in sorted(public(module), key=str.lower):
        value = getattr(module, name)
        if inspect.isclass(value):
            found["Errors" if issubclass(value, Exception) else "Classes"][name] = value
        elif inspect.isroutine(inspect.unwrap(value)) if callable(value) else False:
            found["Functions"][name] = value
        elif not inspect.ismodule(value):
            found["Values"][name] = value
    return found


@cache
def linked() -> frozenset[str]:
    """The full names that pages describe."""
    found = {"encoder": encoder}
    for page, module in modules().items():
        path = _title(page)
        found |= {f"{path}.{name}": getattr(module, name) for name in public(module)}
    return frozenset(path for path, value in found.items() if not inspect.ismodule(value))


def texts() -> dict[str, str]:
    """File in `generated` -> its Markdown: the list of the pages, and the pages."""
    found = modules()
    rows = [f"| [{_title(name)}](api/{name}.md) | {_first_line(module)} |" for name, module in found.items()]
    contents = [":::{toctree}", ":hidden:", *(f"api/{name}" for name in found), ":::"]
    index = [HEADING, "| page | |", "|---|---|", *rows, "", *contents, ""]
    return {"api": "\n".join(index)} | {f"api/{name}": page(name, module) for name, module in found.items()}


def page(name: str, module: ModuleType) -> str:
    """One module: what it is for, then its names by section, each with an anchor."""
    lines = [f"# {_title(name)}", "", inspect.getdoc(module) or "", ""]
    lines += _sections(module.__name__, module, "##")
    inner = [one for one in module.__all__ if module is not encoder and inspect.ismodule(getattr(module, one))]
    for one in inner:
        nested = getattr(module, one)
        lines += [f"## {module.__name__}.{one}", "", inspect.getdoc(nested) or "", ""]
        lines += _sections(f"{module.__name__}.{one}", nested, "###")
    return "\n".join(lines)


def _title(name: str) -> str:
    return "encoder" if name == "encoder" else f"encoder.{name}"


def _first_line(module: ModuleType) -> str:
    return (inspect.getdoc(module) or "").partition("\n\n")[0].replace("\n", " ")


def _sections(path: str, module: ModuleType, level: str) -> Iterator[str]:
    for section, found in names(module).items():
        if not found:
            continue
        yield from (f"{level} {section}", "", "```{eval-rst}")
        for name, value in found.items():
            if section == "Values":
                yield from _value(path, module, name, value)
            else:
                yield f".. {SECTIONS[section]}:: {path}.{name}"
                if section == "Classes":
                    yield "   :members:"
                if module is not encoder and getattr(encoder, name, None) is value:  # its anchor is on the first page
                    yield "   :no-index:"
                yield ""
        yield from ("```", "")


def _value(path: str, module: ModuleType, name: str, value: object) -> Iterator[str]:
    """A constant, with its comment where it is defined."""
    shown = repr(value).replace("typing.", "")
    yield f".. py:data:: {path}.{name}"
    if len(shown) <= LONGEST_VALUE:
        yield f"   :value: {shown}"
    said = ModuleAnalyzer.for_module(_home(module, name)).find_attr_docs().get(("", name), [])
    yield from ("", *(f"   {line}" for line in marked(" ".join(said).strip(), path).splitlines()), "")


def _home(module: ModuleType, name: str) -> str:
    """The module that defines a name which another imports."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom) and name in {one.name for one in node.names}:
            return _home(importlib.import_module(node.module or ""), name)
    return module.__name__


def docstring(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """As autodoc's event: a plain docstring becomes reST, with its parameters or fields as a list at the end."""
    text, blocks = "\n".join(lines).strip(), []
    known, listed, raised = parameters(value), [], []
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("Args:\n"):
            listed += _arguments(block)
            continue
        if block.startswith(" "):  # a block of code
            blocks.append("::\n\n" + "\n".join(f"   {line}" for line in block.splitlines()))
            continue
        if re.search(r"^\s*(?:[-*]|\d+\.|:\w+) ", block, re.MULTILINE):
            blocks.append(marked(block, name))
            continue
        said, found, errors = parts(" ".join(block.split()), known)
        listed += found
        raised += errors
        blocks.append(marked(said, name))
    lines[:] = "\n\n".join(blocks).splitlines()
    if listed:
        label = "Fields" if inspect.isclass(value) and not issubclass(value, Exception) else "Parameters"
        lines += ["", f":{label}:", *(f"   * {_entry(*one, name)}" for one in listed)]
    if raised:
        lines += ["", ":Raises:", f"   {marked(' '.join(raised), name)}"]
    lines.append("")


def _arguments(block: str) -> Iterator[tuple[str, str]]:
    """The entries of a block that is a list already: "name: what it is", continued by lines further to the right."""
    lines = block.splitlines()[1:]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    joined = "\n".join(line[margin:] for line in lines)
    for entry in re.split(r"\n(?! )", joined):
        name, _, said = " ".join(entry.split()).partition(": ")
        yield name, said.removesuffix(".")


def signature(app: Any, what: str, name: str, value: Any, options: Any, arguments: str, answer: str) -> Any:
    """As autodoc's event: types by their full names, and what a function gives that runs a generator to its end."""
    known = getattr(inspect.unwrap(value), "__globals__", {}) if inspect.isroutine(value) else {}

    def full(found: re.Match[str]) -> str:
        one = known.get(found[0])
        own = inspect.isclass(one) and one.__module__.startswith("encoder.")
        return f"~{one.__module__}.{one.__qualname__}" if own else found[0]

    arguments, answer = (re.sub(r"(?<![\w.~'\"])[A-Z]\w*\b(?![(.'\"])", full, one or "") for one in (arguments, answer))
    if hasattr(value, "__wrapped__") and not inspect.isgeneratorfunction(value) and "Generator[" in answer:
        answer = answer.partition(", None, ")[2].removesuffix("]")
    return arguments.replace("<factory>", "...") or None, answer or None


def parameters(value: object) -> frozenset[str]:
    """The names that a docstring may describe: of arguments, or of a class's fields."""
    try:
        found = set(inspect.signature(value).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = set()
    if inspect.isclass(value):
        found |= {name for one in value.__mro__ for name in vars(one).get("__annotations__", {})}
        found |= {name for name, member in inspect.getmembers(value) if isinstance(member, property)}
    return frozenset(found - {"self", "args", "kwargs"})


def parts(text: str, known: frozenset[str]) -> tuple[str, list[tuple[str, str]], list[str]]:
    """A paragraph -> its sentences, (names, what they are) of each entry, and what is raised."""
    sentences = SENTENCE_END.split(text)
    raised = [one.removeprefix("Raises ") for one in sentences if one.startswith("Raises ")]
    text = " ".join(one for one in sentences if not one.startswith("Raises "))
    if not known:
        return text, [], raised
    name = rf"\**(?:{'|'.join(sorted(map(re.escape, known), key=len, reverse=True))})\b(?: (?:\w+ )?\[[^\]]*\])?"
    starts = [
        found
        for found in re.finditer(rf"(?:^|(?<=; )|(?<=\. )){name}(?:,? (?:and )?{name})*(?=:|;|,(?! \w+ \[)|\.)", text)
        if text[found.end()] == ":" or found[0].endswith("]")
    ]
    if not starts:
        return text, [], raised
    listed, after = [], ""
    for start, end in zip(starts, [*(one.start() for one in starts[1:]), len(text)], strict=True):
        said = text[start.end() : end].strip().removeprefix(":").strip(" ;")
        if end == len(text):  # what follows the last entry's sentence is no part of it
            said, *more = SENTENCE_END.split(said)
            after = " ".join(more)
        listed.append((start[0], said.rstrip(".") if ". " not in said else said))
    before = re.sub(r";\s*$", ". ", text[: starts[0].start()])
    return f"{before}{after}".strip(), listed, raised


def _entry(entry: str, said: str, path: str) -> str:
    """The names in bold, each with its type and shape, and what they are."""
    pieces = re.split(r"(\[[^\]]*\]|\b(?:and|bool|u?int\d*|float\d*)\b|\W+)", entry)
    bold = "".join(
        f"**{piece}**" if re.fullmatch(r"\w+", piece) and n % 2 == 0 else marked(piece, path)
        for n, piece in enumerate(pieces)
    )
    return f"{bold}: {marked(said, path)}" if said else bold


def marked(text: str, path: str) -> str:
    """Mark code as reST does, or link it, and escape other marks."""
    pieces = re.split(r"(`[^`]+`)", text)
    pieces[::2] = [re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [_code(piece, path) for piece in pieces[1::2]]
    return "".join(pieces)


def _code(span: str, path: str) -> str:
    """A span in backquotes as literal text, or as a link where it names what a page describes."""
    named = span.strip("`").removesuffix("()")
    spaces: Sequence[str] = ("encoder", *(".".join(path.split(".")[:n]) for n in range(2, path.count(".") + 1)))
    for space in reversed(spaces):
        if (target := f"{space}.{named.removeprefix('encoder.')}") in linked() and target != path:
            return f":py:obj:`{span.strip('`')} <{target}>`"
    return f"`{span}`"
