"""A static folder whose pages compute in the browser, with the drawings of the app.

index.html, and a folder for each other page, share one script; weights are gzipped files that a page loads when it
needs them. No page asks another host for anything.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from encoder import disk
from encoder.drawing import preview
from encoder.drawing.javascript import SHARED, joined
from encoder.drawing.picture import Picture, style
from encoder.drawing.plotly_js import plotly_js
from encoder.drawing.still import Still
from encoder.explain.by_hand import NOTES_POSITIONS, Inputs
from encoder.figures.colours import thumbnails_lut
from encoder.live.blanks import blank_figures
from encoder.live.packed import BrowserModel
from encoder.live.pages import PLOTLY, SHARE, SiteModel, SitePage
from encoder.version import __version__
from encoder.views.options import OTHER_SENTENCE

HERE = Path(__file__).parent / "browser"
#: What the list of the folder's files calls it.
KIND = "a site of this program"
#: Whether the open model needs a network any more.
OFFLINE = '<p id="offline" role="status"></p>'
#: How a reader starts the app, and where it is then.
COMMAND, APP = "pip install encoderscope && encoderscope", "http://localhost:8501"


def write(
    folder: Path,
    pages: Sequence[SitePage],
    models: Mapping[SiteModel, BrowserModel],
    *,
    first: Picture,
    examples: Sequence[str],
    hidden: str,
    more: Mapping[str, object] | None = None,
    texts: Mapping[str, str] | None = None,
    address: str = "",
    still: Still | None = None,
) -> None:
    """Write the site. models: the first one opens where an address names none; first: the picture of the first of
    `examples` in it.

    examples, hidden: the first sentence and another one, and the first one with a hidden word; more: for the scripts;
    texts: further files by their path in the site; address: where the folder will be, and still: what other programs
    show then next to a link. Raises SaveError if the folder cannot be written or has other files, EncoderError for
    another address.
    """
    where = preview.folder_address(address) if address else ""
    with disk.whole_folder(folder, KIND) as place:
        (place / "models").mkdir()
        files = {one.name: _model_file(place, packed, one) for one, packed in models.items()}
        figures = blank_figures()
        scripts = {name: _written(place, name, text) for name, text in _scripts().items()}
        for page in pages:
            own = place / page.folder
            own.mkdir(exist_ok=True)
            up = "../" if page.folder else ""
            about = {
                "models": {
                    one.name: {
                        "title": one.title,
                        "note": one.note,
                        "app": one.app,
                        "file": f"{up}models/{files[one.name]}",
                        "bytes": packed.n_bytes,
                        "layers": packed.n_layers,
                        "heads": packed.n_heads,
                    }
                    for one, packed in models.items()
                },
                "example": examples[0],
                "second": examples[-1],
                "hidden": hidden,
                "service": f"{up}service.js",
                "colours": thumbnails_lut().ravel().tolist(),
                **({"figures": figures, "other": OTHER_SENTENCE} if PLOTLY[0] in page.scripts else {}),
                "worker": f"{up}{scripts['worker.js']}",
                "helper": f"{up}{scripts['helper.js']}",
                **(more or {}),
            }
            text = _document(page, pages, about, up, scripts, first if not page.folder else None)
            if where:
                names = f"{page.folder}/" if page.folder else "", "preview.png"
                text = preview.Preview(where, *names, f"{page.title} - Encoderscope", page.question).inserted(text)
            disk.write_file(own / "index.html", text)
        if where and still is not None:
            disk.write_file(place / "preview.png", preview.image(still))
        kept = [
            *scripts.values(),
            *(f"models/{name}" for name in files.values()),
            *(f"{page.folder}/" if page.folder else "./" for page in pages),
        ]
        service = (HERE / "service.js").read_text(encoding="utf-8")
        version = hashlib.sha256(json.dumps(kept).encode() + first.block()).hexdigest()[:12]
        disk.write_file(
            place / "service.js", service.replace("VERSION", json.dumps(version)).replace("FILES", json.dumps(kept))
        )
        for name, text in (texts or {}).items():
            disk.write_file(place / name, text)


def _scripts() -> dict[str, str]:
    """What all pages share: scripts, and the style."""
    css = [*(SHARED / f"{name}.css" for name in ("draw_digit", "by_hand")), HERE / "site.css"]
    return {
        "site.js": joined(HERE / "site.js"),
        "worker.js": joined(HERE / "worker.js"),
        "helper.js": joined(HERE / "helper.js"),
        "plotly.js": plotly_js(),
        "site.css": style() + "".join(one.read_text(encoding="utf-8") for one in css) + _themes(),
    }


def _themes() -> str:
    """The colours of a picture in light and in dark for a page whose address names its theme."""
    text = (SHARED / "page.css").read_text(encoding="utf-8")
    light, dark = re.findall(r"\.drawing (\{ --st-background-color: #[^}]*\})", text)
    return f"[data-theme=light] .drawing {light}\n[data-theme=dark] .drawing {dark}\n"


def by_hand() -> dict[str, object]:
    """What the page By hand begins with, for `more` of `write`."""
    return {"usual": asdict(Inputs()), "notes": NOTES_POSITIONS}


def _model_file(folder: Path, files: BrowserModel, one: SiteModel) -> str:
    """The name of a model's file, next to which a folder of its name has the blocks of its word vectors."""
    digest = hashlib.sha256(files.main + b"".join(files.blocks)).hexdigest()[:8]
    place = folder / "models" / f"{one.name}.{digest}"
    disk.write_file(place.with_name(f"{place.name}.bin"), files.main)
    if files.blocks:
        place.mkdir()
    for at, block in enumerate(files.blocks):
        disk.write_file(place / f"{at}.bin", block)
    return f"{place.name}.bin"


def _written(folder: Path, name: str, text: str) -> str:
    """The name under which a text is stored: it has a digest, so that a browser may keep the file for ever."""
    stem, suffix = name.rsplit(".", 1)
    name = f"{stem}.{hashlib.sha256(text.encode()).hexdigest()[:8]}.{suffix}"
    disk.write_file(folder / name, text)
    return name


def _document(
    page: SitePage,
    pages: Sequence[SitePage],
    about: Mapping[str, object],
    up: str,
    names: Mapping[str, str],
    first: Picture | None,
) -> str:
    """A whole page. The Content-Security-Policy allows the site's own files only."""
    links = "".join(
        f'<a href="{up}{one.folder + "/" if one.folder else "./"}"'
        f"{' aria-current=page' if one is page else ''}>{html.escape(one.title)}</a>"
        for one in pages
    )
    data = json.dumps(about, separators=(",", ":")).replace("<", "\\u003c")
    block = ""
    if first is not None:
        block = (
            f'<script type="application/octet-stream" id="first" data-place="model" data-kind="{first.kind}" '
            f'data-height="{first.height}">{base64.b64encode(first.block()).decode()}</script>'
        )
    css = names["site.css"]
    uses = ["site.js"] if any(one in page.body for one in ('class="drawing"', 'id="said"')) else []
    scripts = "".join(f'<script src="{up}{names[name]}" defer></script>' for name in (*page.scripts, *uses))
    policy = "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; base-uri 'none'"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="generator" content="Encoderscope {__version__}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(page.title)} - Encoderscope</title>"
        f'<meta name="description" content="{html.escape(page.question)}"><link rel="icon" href="data:,">'
        f'<link rel="stylesheet" href="{up}{css}"></head><body data-page="{page.folder or "model"}">'
        f'<header><a href="{up or "./"}"><b>Encoderscope</b></a><nav aria-label="Pages">{links}</nav></header><main>'
        f"<h1>{html.escape(page.title)}</h1><p>{html.escape(page.question)}</p>{page.body}"
        f"{SHARE if uses else ''}</main>"
        f"<footer><p>Everything is computed in this browser; nothing that you type leaves it. "
        f"The full app: <code>{html.escape(COMMAND)}</code><span>, then "
        f'<a id="app" rel="noreferrer" href="{APP}/{page.app}">{APP}/{page.app}</a></span></p>'
        f"{OFFLINE if uses else ''}</footer>"
        f'<script type="application/json" id="site">{data}</script>{block}{scripts}</body></html>\n'
    )
