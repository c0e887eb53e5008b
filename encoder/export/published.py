"""Views of the app as a folder of pages that compute nothing: for a course, or a paper's supplement.

A page holds what it shows of an input in a model: every layer and head, the numbers of every part, or one head.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from encoder import disk
from encoder.documents.document import Section, document
from encoder.drawing import preview, still
from encoder.drawing.picture import escape
from encoder.drawing.still import Still
from encoder.encoders.joint import JointEncoder
from encoder.encoders.named import NamedEncoder
from encoder.encoders.signal import SignalEncoder
from encoder.encoders.text import TextEncoder, of_text
from encoder.errors import EncoderError, quoted
from encoder.export import why
from encoder.export.saved import page
from encoder.run import Text
from encoder.run.address import Link, read_link
from encoder.run.values import DECODER
from encoder.scores import explain_score
from encoder.trace.trace import Trace
from encoder.views import stills
from encoder.views.lines import lines
from encoder.views.map import map
from encoder.views.text import text

#: The page in a link -> what it is called.
PAGES = {"model": "The model at work", "heads": "Heads", "texts": "Texts"}
#: The views of a head.
VIEWS = ("map", "lines", "text")
#: The query, and the text that it is compared with, of the page Texts in a link; the former name of this page.
QUERY, SECOND, FORMER = "query", "similar_to", "similarity"
#: "1" in such a link: words where a long text has phrases otherwise.
EACH_WORD = "each_word"
#: What the list of the folder's files calls it.
KIND = "a set of published pages"


def read_view(link: str) -> Link:
    """What a link of the app shows, "heads?text=A+cat&layer=2&head=3"; the server before it does not matter.

    Raises EncoderError if the page cannot be published, or if the link has neither a text nor a file.
    """
    view = read_link(link)
    if view.page == FORMER:
        view = replace(view, page="texts")
    if view.page not in PAGES:
        raise EncoderError(f"The page {quoted(view.page)} cannot be published: choose {', '.join(PAGES)}.")
    given = view.run.input
    if view.run.model.tower == DECODER:
        raise EncoderError(f"{quoted(link)} is of a decoder, which is not published: leave stack={DECODER} out.")
    if not given.name:
        others = "" if view.page == "texts" else ", or image=FILE, sound=FILE or video=FILE for a model of these"
        raise EncoderError(f"{quoted(link)} has no text: copy the link with the text, or write text=...{others}.")
    if view.page == "texts" and not isinstance(given, Text):
        raise EncoderError(f"{quoted(link)} has {given.kind} as its input: choose the page model or heads.")
    if view.page == "texts" and not view.own.get(SECOND):
        raise EncoderError(f"{quoted(link)} has one text: copy the link with both, or write {SECOND}=...")
    if view.page == "heads" and (kind := view.own.get("view", "map")) not in VIEWS:
        raise EncoderError(f"view={quoted(kind)} is unknown: choose {', '.join(VIEWS)}.")
    if (each := view.own.get(EACH_WORD, "0")) not in ("0", "1"):
        raise EncoderError(f"{EACH_WORD}={quoted(each)}: choose 0 or 1.")
    return view


def publish(links: Sequence[str], folder: str | Path, device: str = "auto", address: str = "") -> list[Path]:
    """Write a page for each link, and index.html, which lists them; returns their paths.

    address: where the folder will be; other programs then show a picture of a view next to a link to it. The folder is
    empty, or one that `publish` wrote: its pages are replaced, and other files in it stay.

    Raises EncoderError if a link cannot be published or the address does not name a folder, LoadError if a model does
    not open, and SaveError if the folder cannot be written or has other files.
    """
    disk.check_folder(folder, KIND)
    views = [read_view(link) for link in links]
    specs = {one.run.model.of_checkpoint for one in views}
    models = {spec: replace(spec, device=device).checkpoint() for spec in specs}
    where = preview.folder_address(address) if address else ""
    files = {f"{number:02}-{view.page}.html": view for number, view in enumerate(views, 1)}
    drawn = {name: _drawn(view, models[view.run.model.of_checkpoint]) for name, view in files.items()}
    written = {name: page for name, (page, _) in drawn.items()} | {"index.html": _index(files)}
    for name in written if where else ():
        of = name if name in files else next(iter(files))  # the list shows the first view
        shown = preview.Preview(where, name, f"{Path(of).stem}.png", _title(files[of]), _input(files[of]))
        written[name] = shown.inserted(written[name])
    images = {f"{Path(name).stem}.png": preview.image(still) for name, (_, still) in drawn.items() if where}
    contents: dict[str, str | bytes] = {**written, **images}
    with disk.whole_folder(folder, KIND) as place:
        for name, content in contents.items():
            disk.write_file(place / name, content)
    return [Path(folder) / name for name in ("index.html", *files)]


def _encoder(view: Link, checkpoint: NamedEncoder | JointEncoder) -> NamedEncoder:
    """The encoder of the view's input. Raises EncoderError for a checkpoint without one."""
    kind = view.run.input.kind
    found = replace(view.run.model, tower=kind).encoder_of(checkpoint)
    if found.takes != kind:
        raise EncoderError(f"{found.name} accepts {found.takes}, not {kind}: copy the link with {found.takes}=...")
    return found


def _drawn(view: Link, checkpoint: NamedEncoder | JointEncoder) -> tuple[str, Still]:
    """The page of a view, and its picture in other pages."""
    model, link = _encoder(view, checkpoint), _address(view)
    if view.page == "texts":
        return _pair(view, of_text(model, "choose a text model."))
    run, place = view.run, view.run.place
    model = run.on_page(model)
    given = run.given(model)
    trace = run.forward(model, given)
    layer, head = trace.place(place.layer or 0, place.head or 0)
    for name, token in (("i", place.query), ("j", place.key)):
        if token is not None and not 0 <= token < trace.n_tokens:
            raise EncoderError(f"{name}={token}: choose 0 to {trace.n_tokens - 1}, a token of {quoted(_input(view))}.")
    if view.page == "model":
        shown: dict[str, Any] = {"given": model.picture(given)} if isinstance(model, SignalEncoder) else {}
        written = page(trace, layer, head, place.query, place.key, link=link, model=model.name, **shown)
        return written, stills.of_all_heads(trace, model.name, (layer, head))
    return _head(view, trace, layer, head), stills.of_head(trace, layer, head, f"L{layer} H{head}")


def _head(view: Link, trace: Trace, layer: int, head: int) -> str:
    """The page of one head."""
    queries, keys = ([] if one is None else [one] for one in (view.run.place.query, view.run.place.key))
    kind, link = view.own.get("view", "map"), _address(view)
    if kind == "lines":
        return page(lines(trace, [(layer, head)], queries=queries, keys=keys), link=link)
    if kind == "text":
        return page(text(trace, layer, head, selected=queries), link=link)
    return page(map(trace, layer, head, queries=queries, keys=keys), link=link)


def _pair(view: Link, model: TextEncoder) -> tuple[str, Still]:
    """The report of two texts, and the pairs of their parts."""
    pair = view.own.get(QUERY) or view.run.text, view.own[SECOND]
    found = explain_score(model, *pair, each_word=view.own.get(EACH_WORD) == "1")
    score, split = f"{found.kind} {found.score:.4f}", found.split
    matrix, labels = ([[found.score]], (["A"], ["B"])) if split is None else (split.matrix, split.labels)
    spec = replace(view.run.model, source=_source(view))
    written = why.page(model, spec, found, pair, link=_address(view))
    return written, still.matrix(score, matrix, *labels, signed=True)


def _input(view: Link) -> str:
    """What other pages call its input: a text, or the name of a file without its folder."""
    given = view.run.input
    return given.name if isinstance(given, Text) else Path(given.name).name


def _address(view: Link) -> str:
    """Its link in the app; "" where the app of a reader would not find the file, or the model's folder."""
    return view.address if isinstance(view.run.input, Text) and not view.run.model.is_here else ""


def _source(view: Link) -> str:
    """What a reader is told of the model's origin: of a folder its name."""
    model = view.run.model
    return Path(model.source).expanduser().resolve().name if model.is_here else model.source


def _title(view: Link) -> str:
    """What other pages call the view."""
    return f"{PAGES[view.page]}: {_source(view)}"


def _index(files: Mapping[str, Link]) -> str:
    rows = "".join(
        f'<li><a href="{name}">{escape(_input(view))}</a><br>{PAGES[view.page]}, {escape(_source(view))}'
        + "".join(f", {one} {place}" for one, place in _place(view).items())
        + "</li>"
        for name, view in files.items()
    )
    sections = [Section("", picture=f"<ol>{rows}</ol>")]
    if any(_address(view) for view in files.values()):
        said = ["The last line of a page opens the same view in the app, which computes it for any text:"]
        code = "pip install encoderscope\nencoderscope"
        sections.append(Section("", picture=f"<pre>{code}</pre>", sentences=said))
    return document("Published views", sections, footer="Every number here was computed from the input above it.")


def _place(view: Link) -> dict[str, int]:
    """The layer and the head that a link names."""
    found = {"layer": view.run.place.layer, "head": view.run.place.head}
    return {name: number for name, number in found.items() if number is not None}
