"""Views of the app as a folder of pages that compute nothing: for a course, or a paper's supplement.

A page holds what it shows of a sentence in a model: every layer and head, the numbers of every part, or one head.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

from encoder import load
from encoder.edits import parse
from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, SaveError, quoted
from encoder.export import similarity
from encoder.export.document import Section, document
from encoder.export.lines import lines
from encoder.export.map import map
from encoder.export.picture import escape
from encoder.export.python_code import Origin
from encoder.export.saved import page
from encoder.export.text import text
from encoder.model.config import NORM_PLACEMENTS
from encoder.similarity import attribute

#: The page in a link -> what it is called.
PAGES = {"model": "The model at work", "heads": "Heads", "similarity": "Sentence similarity"}
#: Where `encoderscope` serves the app.
APP, START = "http://localhost:8501", "start"
#: The second text of the page Similarity in a link.
SECOND = "similar_to"


@dataclass(frozen=True)
class View:
    """What a link of the app shows. page: one of PAGES; values: as in the link."""

    page: str
    values: Mapping[str, str]

    @property
    def link(self) -> str:
        """The link, on this machine. The page Model is at "/", where a link without START belongs to Heads."""
        place, values = ("", {START: "1", **self.values}) if self.page == "model" else (self.page, self.values)
        return f"{APP}/{place}?{urlencode(values)}"

    @property
    def model(self) -> str:
        """The name of the model, or its folder."""
        return self.values.get("source") or self.values.get("model", "minilm")

    def number(self, name: str) -> int | None:
        """A layer, a head or a token. Raises EncoderError for a value that is not a whole number."""
        value = self.values.get(name, "")
        if value and not value.isdecimal():
            raise EncoderError(f"The link has {name}={quoted(value)}: enter a whole number from 0.")
        return int(value) if value else None


def read_view(link: str) -> View:
    """The view in a link of the app, "heads?text=A+cat&layer=2&head=3"; the server before it does not matter.

    Raises EncoderError for a page that cannot be published, and for a link without its text.
    """
    parts = urlsplit(link)
    values = dict(parse_qsl(parts.query))
    at_root = "model" if values.pop(START, "") else "heads"
    name = parts.path.strip("/").rpartition("/")[2] or at_root
    if name not in PAGES:
        raise EncoderError(f"The page {quoted(name)} cannot be published: choose {', '.join(PAGES)}.")
    if not values.get("text"):
        raise EncoderError(f"{quoted(link)} has no text: copy the link with the text, or write text=...")
    if name == "similarity" and not values.get(SECOND):
        raise EncoderError(f"{quoted(link)} has one text: copy the link with both, or write {SECOND}=...")
    return View(name, values)


def publish(links: Sequence[str], folder: str | Path, device: str = "auto") -> list[Path]:
    """Write a page for each link, and index.html, which lists them; returns their paths.

    Raises EncoderError for a link that cannot be published, LoadError for its model, SaveError if a file cannot be
    written.
    """
    views = [read_view(link) for link in links]
    models = {name: _text_model(name, device) for name in {one.model for one in views}}
    files = {f"{number:02}-{view.page}.html": view for number, view in enumerate(views, 1)}
    pages = {name: _page(view, models[view.model]) for name, view in files.items()}
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {**pages, "index.html": _index(files)}.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise SaveError(f"{folder} cannot be written: {error.strerror or error}. Choose another folder.") from None
    return [folder / name for name in ("index.html", *pages)]


def _text_model(name: str, device: str) -> TextEncoder:
    first, *_ = load(name, device=device).towers.values()
    return of_text(first, "choose a text model.")


def _page(view: View, model: TextEncoder) -> str:
    for placement in NORM_PLACEMENTS:
        if view.values.get("norm") == placement:
            model = model.with_norm_placement(placement)
    if view.page == "similarity":
        return _pair(view, model)
    trace = model.trace(view.values["text"], view.values.get("pair"), edits=parse(view.values.get("edits", "")))
    layer, head, query, key = (view.number(name) for name in ("layer", "head", "i", "j"))
    layer, head = layer or 0, head or 0
    if view.page == "model":
        return page(trace, layer, head, query, key, link=view.link, model=model.name)
    queries, keys = ([] if one is None else [one] for one in (query, key))
    kind = view.values.get("view", "map")
    if kind == "lines":
        return page(lines(trace, [(layer, head)], queries=queries, keys=keys), link=view.link)
    if kind == "text":
        return page(text(trace, layer, head, selected=queries), link=view.link)
    return page(map(trace, layer, head, queries=queries, keys=keys), link=view.link)


def _pair(view: View, model: TextEncoder) -> str:
    """The report of two texts, with the settings of the link."""
    values = {"reference": "pad", "path_steps": "auto", **view.values}
    steps = "auto" if values["path_steps"] == "auto" else view.number("path_steps") or "auto"
    found = attribute(model, values["text"], values[SECOND], view.number("vectors") or 0, steps, values["reference"])  # type: ignore[arg-type]
    norm = values.get("norm", "")
    origin = Origin(view.model, norm=norm if norm in NORM_PLACEMENTS else "trained")
    return similarity.page(model, origin, found, link=view.link)


def _index(files: Mapping[str, View]) -> str:
    rows = "".join(
        f'<li><a href="{name}">{escape(view.values["text"])}</a><br>{PAGES[view.page]}, {escape(view.model)}'
        + "".join(f", {one} {escape(view.values[one])}" for one in ("layer", "head") if one in view.values)
        + "</li>"
        for name, view in files.items()
    )
    said = ["The last line of each page opens the same view in the app, which computes it for any text:"]
    code = "pip install encoderscope\nencoderscope"
    sections = [Section("", picture=f"<ol>{rows}</ol>"), Section("", picture=f"<pre>{code}</pre>", sentences=said)]
    return document("Published views", sections, footer="Every number here was computed from the text above it.")
