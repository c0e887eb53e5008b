"""An HTML page -> its nodes with their paths, the same as transformers' MarkupLMFeatureExtractor finds with bs4.

Its rules: no tag is closed but by an end tag of its name or of one around it; every string inside a tag is a node, so
comments, scripts and styles are, too; strings outside of all tags are none. References (&amp;) are resolved twice.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.entities import html5
from html.parser import HTMLParser
from pathlib import Path

from encoder.errors import TextError
from encoder.inputs import media_file
from encoder.inputs.nodes import STEP, NodeTexts, read_lines

#: The largest file; the most nodes, and the deepest tag. No model accepts more than a few thousand tokens.
MOST_BYTES, MOST_NODES, DEEPEST = 2_000_000, 5_000, 1_000
#: Endings of files.
ENDINGS = ("html", "htm", "txt")
#: The bundled page.
REPORT = Path(__file__).parents[1] / "data" / "report.html"
#: Elements without an end (HTML's void elements, and older names).
VOID = frozenset(
    "area base basefont bgsound br col command embed frame hr image img input isindex keygen link menuitem meta nextid "
    "param source spacer track wbr".split()
)
#: The first characters of what is left of a number that does not end.
DIGITS = {10: re.compile("[0-9]+"), 16: re.compile("[0-9a-f]+")}


@dataclass(eq=False)
class _Element:
    """A tag of the tree. number: among the siblings of its name, from 1."""

    name: str
    parent: _Element | None
    number: int = 1
    #: How many children of each name there are so far.
    counts: dict[str, int] = field(default_factory=dict)
    depth: int = 0

    def path(self) -> str:
        """From the root, once the whole page is read: a number only where there are siblings of the same name."""
        steps, one = [], self
        while one.parent is not None:
            steps.append(f"{one.name}[{one.number}]" if one.parent.counts[one.name] > 1 else one.name)
            one = one.parent
        return "/" + "/".join(reversed(steps))


class _Reader(HTMLParser):
    """Collects the strings of a page, each with the element around it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.strings: list[tuple[str, _Element]] = []
        self._open = _Element("", None)
        self._open_names: dict[str, int] = {}
        self._data: list[str] = []
        #: Void elements whose end tags are still to come, if they come.
        self._ended: list[str] = []

    def end_string(self) -> None:
        """What was read since the last tag is a string."""
        text, self._data = "".join(self._data), []
        text = html.unescape(text).strip()
        if text and self._open.parent is not None:
            self.strings.append((text, self._open))

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._start(tag)
        if tag in VOID:
            self._end(tag)
            self._ended.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self._start(tag)
        self._end(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._ended:
            self._ended.remove(tag)
        else:
            self._end(tag)

    def _start(self, tag: str) -> None:
        self.end_string()
        counts = self._open.counts
        counts[tag] = counts.get(tag, 0) + 1
        self._open = _Element(tag, self._open, counts[tag], depth=self._open.depth + 1)
        self._open_names[tag] = self._open_names.get(tag, 0) + 1
        if self._open.depth > DEEPEST:
            raise TextError(f"This page has more than {DEEPEST:,} tags inside each other: choose a part of it.")

    def _end(self, tag: str) -> None:
        self.end_string()
        if not self._open_names.get(tag):  # an end without a start
            return
        name = ""
        while name != tag and self._open.parent is not None:
            name = self._open.name
            self._open_names[name] -= 1
            self._open = self._open.parent

    def handle_data(self, data: str) -> None:
        self._data.append(data)

    def handle_entityref(self, name: str) -> None:
        self._data.append(html5.get(name) or html5.get(f"{name};") or f"&{name}")

    def handle_charref(self, name: str) -> None:
        base, digits = (16, name[1:]) if name[:1] in "xX" else (10, name)
        try:
            number, rest = int(digits, base), ""
        except ValueError:  # a reference that does not end before the next letter
            found = DIGITS[base].match(digits)
            if found is None:
                self._data.append(digits)
                return
            number, rest = int(found[0], base), digits[found.end() :]
        self._data.append(_character(number) + rest)

    def _apart(self, text: str) -> None:
        """A string of its own."""
        self.end_string()
        self._data.append(text)
        self.end_string()

    def handle_comment(self, data: str) -> None:
        self._apart(data)

    def handle_pi(self, data: str) -> None:
        self._apart(data)

    def handle_decl(self, decl: str) -> None:
        self._apart(decl[len("DOCTYPE ") :])

    def unknown_decl(self, data: str) -> None:
        self._apart(data[len("CDATA[") :] if data.upper().startswith("CDATA[") else data)


def _character(number: int) -> str:
    """The character of a numeric reference."""
    if number == 0 or number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        return "\ufffd"
    if 0x80 <= number <= 0x9F:
        return bytes([number]).decode("cp1252", "ignore") or chr(number)
    return chr(number)


def read_html(text: str) -> NodeTexts:
    """The nodes of a page. Raises TextError for one without any, and for one that is too large."""
    reader = _Reader()
    try:
        reader.feed(text)
        reader.close()
    except (AssertionError, ValueError, RecursionError):  # the parser refuses some declarations
        raise TextError("This text is not HTML that can be read: check its declarations (<!...>).") from None
    reader.end_string()
    if len(reader.strings) > MOST_NODES:
        raise TextError(f"This page has more than {MOST_NODES:,} nodes, which is the limit: choose a part of it.")
    if not reader.strings:
        raise TextError("This page has no text inside a tag: specify HTML such as <p>Hello</p>.")
    for _, element in reader.strings:
        _check_names(element)
    return NodeTexts(
        tuple(string for string, _ in reader.strings), tuple(element.path() for _, element in reader.strings)
    )


def _check_names(element: _Element | None) -> None:
    """Raise TextError for a tag that no path can name."""
    while element is not None and element.parent is not None:
        if not (found := STEP.fullmatch(element.name)) or found[2]:
            raise TextError(f"This page has the tag <{element.name[:40]}>, which no path can name: correct it.")
        element = element.parent


def read_page(text: str) -> NodeTexts:
    """Nodes of what a person typed: HTML, or lines of `nodes.read_lines`. Raises TextError for anything else."""
    return read_html(text) if text.lstrip().startswith("<") else read_lines(text)


def open_page(file: bytes | str | Path, name: str = "This file") -> NodeTexts:
    """The nodes of a file of HTML, or of lines (.txt). name: of a file whose bytes are given.

    Raises TextError for a file that is missing, broken, empty, too large, or of another kind.
    """
    content, name = media_file.content(file, name, most=MOST_BYTES, kind="page", refused=TextError)
    if Path(name).suffix.lower().lstrip(".") not in ENDINGS:
        raise TextError(f"{name} is not a file of nodes ({', '.join(f'.{one}' for one in ENDINGS)}): choose HTML.")
    return read_page(content.decode("utf-8-sig", "replace"))


def example() -> NodeTexts:
    """The bundled page, a small report."""
    return open_page(REPORT)
