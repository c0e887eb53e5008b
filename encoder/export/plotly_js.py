"""The script of the `plotly` package, without the kinds of charts that Encoderscope never draws.

The script has 47 kinds of charts, maps of the world and 3-D among them: 4.8 MB. It is a list of modules. Each is a
function that runs when another module asks for it first, and the last module registers all kinds. Here that one
registers KINDS alone, and what nobody asks for any more is left out: 1.1 MB, 0.4 compressed. The text of every other
module stays as it is, and so do the licences at the end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs, get_plotlyjs_version

#: The version whose form this module knows: the names of its helpers change with each one.
VERSION = "4.1.1"
#: Kinds of traces beside "scatter", which is part of the core.
KINDS = ("bar", "heatmap")
#: Where a module begins, what it registers, and how the script ends after the last module.
_BEGIN = re.compile(r"(?<=;)var ([\w$]+)=W\(")
_REGISTER = re.compile(r"\.register\(\[([\w$(),]+)\]\)")
_END = re.compile(r"return [\w$]+\(\);\}\)\(\);")
#: What a module calls, and the name of a kind. A module may do nothing but pass another one on.
_CALLS = re.compile(r"[\w$]+(?=\()")
_KIND = re.compile(r'moduleType[=:]"trace".*?name[=:]"(\w+)"|[.{,]name[=:]"(\w+)".*?moduleType[=:]"trace"', re.DOTALL)
_PASSED = re.compile(r"exports=([\w$]+)\(\)\}\);$")


def plotly_js(figures: Iterable[go.Figure] = ()) -> str:
    """The script; whole for a figure of another kind, or if the installed plotly is built in another way."""
    kinds = {trace.type for figure in figures for trace in figure.data}
    return _cut() if kinds <= {"scatter", *KINDS} else str(get_plotlyjs())


@cache
def _cut() -> str:
    whole = str(get_plotlyjs())
    if get_plotlyjs_version() != VERSION:
        return whole
    try:
        return cut(whole)
    except LookupError:
        return whole


def cut(whole: str) -> str:
    """The script with KINDS alone. Raises LookupError for a script that is built in another way."""
    begins, ends = list(_BEGIN.finditer(whole)), list(_END.finditer(whole))
    if not begins or len(ends) != 1:
        raise LookupError("the script is no list of modules")
    end = ends[0].start()
    places = [begin.start() for begin in begins]
    texts = {begin[1]: whole[place:stop] for begin, place, stop in zip(begins, places, [*places[1:], end], strict=True)}
    last = begins[-1][1]
    registered = _REGISTER.search(texts[last])
    if registered is None:
        raise LookupError("the last module registers nothing")
    modules = {_kind(texts, call.removesuffix("()")): call for call in registered[1].split(",")}
    kept = ",".join(modules[kind] for kind in KINDS)
    texts[last] = texts[last].replace(registered[1], kept)
    asked = _asked(texts, last)
    return whole[: places[0]] + "".join(text for name, text in texts.items() if name in asked) + whole[end:]


def _kind(texts: dict[str, str], name: str) -> str:
    """The kind of trace that a module registers; "" for something else."""
    for _ in range(4):
        if found := _KIND.search(texts[name]):
            return found[1] or found[2]
        passed = _PASSED.search(texts[name])
        if passed is None:
            break
        name = passed[1]
    return ""


def _asked(texts: dict[str, str], last: str) -> set[str]:
    """The names of the last module, and of all that it calls."""
    # A module's text also has the declarations up to the next module.
    owner = {made: name for name, text in texts.items() for made in re.findall(r"[;,\s]([\w$]+)=Ea\(", text)}
    owner |= {name: name for name in texts}
    found, waiting = {last}, [last]
    while waiting:
        for call in set(_CALLS.findall(texts[waiting.pop()])):
            if (name := owner.get(call)) is not None and name not in found:
                found.add(name)
                waiting.append(name)
    return found
