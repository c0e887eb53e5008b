"""The names of all pages in a bar above the page: a row of groups, each of which opens its pages.

Each link is a plain address; a click on one presses Streamlit's link of the same page, which keeps the session
(page_keys.js).
"""

import base64
import copy
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

#: The class of the button that opens the search; pages/components/find.py has the same.
OPENER = "enc-find-opener"
#: The page's icon as an address with its content. Streamlit would read a file and compress it again in each run, and
#: fetch a Material icon from another server.
ICON = "data:image/png;base64," + base64.b64encode((Path(__file__).parent / "icon.png").read_bytes()).decode()
#: Streamlit wants a name of the page at "/", which no address has.
AT_THE_ROOT = "first"


@dataclass(frozen=True)
class Page:
    """One page of the app: a folder of pages/ with a page.py and, if it has values in the address, a params.py.

    help: the question that its picture answers, in the bar and below its title; short: its name in the bar, if it
    differs from the title; uses: the controls that it needs, of "text", "model", "layer" and "head" (none: it has no
    controls, and its `main` gets no view); layers: whether it shows layers, which a static table of tokens does not
    have; own_controls: whether its script draws them itself, inside its picture, and the frame none above it; takes,
    why: the kinds of input that it can show, of "text", "image", "video", "sound", "maps" (of a file) and "pair"
    (an image and texts), and a sentence with the reason where others are left out; pads: whether it shows a
    text padded as in a batch; maps: whether it shows small maps of all heads; edits: whether it shows the edited run,
    None: it draws the edits itself; in_bar: whether the bar has a link to it. The search, links and its address open it
    in any case; part_of: the folder of the page that it is a part of, in whose entry the bar names it, "" for a page of
    its own; as_trained: whether it leaves the norms as they were trained, and so has no control of them (it shows both
    placements, compares another program with the model, or shows other models in its place); measured: of which
    numbers the line about moved norms names a change (core/view/norm_change.py), "" where the picture itself says what
    changed, or shows other texts.
    """

    folder: str
    title: str
    icon: str
    help: str
    short: str = ""
    uses: tuple[str, ...] = ("text", "model", "layer", "head")
    layers: bool = True
    own_controls: bool = False
    takes: tuple[str, ...] = ("text", "image", "video", "sound")
    why: str = ""
    pads: bool = False
    maps: bool = False
    edits: bool | None = False
    in_bar: bool = True
    part_of: str = ""
    as_trained: bool = False
    measured: str = "vector"

    @property
    def name(self) -> str:
        return self.short or self.title

    @property
    def script(self) -> str:
        return f"pages/{self.folder}/page.py"


def nothing() -> None:
    """A page without content."""


def kept_pages(make: Callable[[], dict[str, list[StreamlitPage]]]) -> dict[str, list[StreamlitPage]]:
    """The pages by section, made once: each asks the file system for its script. Copies, since a run changes them."""
    if not _PAGES:
        _PAGES.update(make())
    return {section: [copy.copy(page) for page in pages] for section, pages in _PAGES.items()}


_PAGES: dict[str, list[StreamlitPage]] = {}


def bar(groups: Mapping[str, Sequence[Page]], here: str, home: str) -> None:
    """Draw the bar. here: the folder of the open page; home: that of the page at "/"."""
    if here not in _BARS:
        _BARS[here] = _bar(groups, here, home)
    with st.container(key="page-names"):
        st.html(_BARS[here])


_BARS: dict[str, str] = {}


def _bar(groups: Mapping[str, Sequence[Page]], here: str, home: str) -> str:
    base = "".join(f"/{part}" for part in str(st.get_option("server.baseUrlPath") or "").split("/") if part)

    def address_of(folder: str) -> str:
        return f"{base}/" if folder == home else f"{base}/{folder}"

    def link(entry: Page, inner: str) -> str:
        address = address_of(entry.folder)
        current = ' aria-current="page"' if entry.folder == here else ""
        return f'<a href="{address}"{current}>{inner}</a>'

    def of_page(entry: Page, entries: Sequence[Page]) -> str:
        """The link of a page with its question, and small ones of its parts."""
        inside = [link(one, html.escape(one.name)) for one in entries if one.part_of == entry.folder]
        named = f'<div class="enc-parts">{"".join(inside)}</div>' if inside else ""
        return link(entry, f"<b>{html.escape(entry.name)}</b><span>{html.escape(entry.help)}</span>") + named

    parts = []
    for number, (group, entries) in enumerate(groups.items()):
        is_open, name = any(entry.folder == here for entry in entries), html.escape(group)
        entries = [entry for entry in entries if entry.in_bar]
        mark = ' class="enc-here"' if is_open else ""
        if len(entries) == 1:
            parts.append(f"<li{mark}>{link(entries[0], name)}</li>")
            continue
        links = "".join(f"<li>{of_page(one, entries)}</li>" for one in entries if not one.part_of)
        said = f'{name}<span class="enc-unseen">, the open page is here</span>' if is_open else name
        parts.append(
            f'<li{mark}><button type="button" aria-expanded="false" aria-controls="enc-group-{number}">{said}</button>'
            f'<ul id="enc-group-{number}">{links}</ul></li>'
        )
    return (
        f'<nav class="enc-pages" aria-label="Pages" data-page="{address_of(here)}">'
        f'<a class="enc-name" href="{base}/">Encoderscope</a>'
        '<button type="button" class="enc-list" aria-expanded="false" aria-controls="enc-groups">Pages</button>'
        f'<ul id="enc-groups">{"".join(parts)}</ul></nav>'
        f'<span class="enc-tools"><a href="{base}/glossary">Glossary</a>'
        f'<button type="button" class="{OPENER}" aria-haspopup="dialog">Search<kbd>Ctrl K</kbd></button></span>'
    )
