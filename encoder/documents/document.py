"""A standalone HTML page: interactive figures, pictures and tables, without a network or a server.

The page contains text that a user typed, so every text is escaped and no "<" occurs in the JSON of figures. The page's
Content-Security-Policy allows only the scripts of this module, whatever the text contains.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from encoder.drawing import picture as pictures
from encoder.drawing.javascript import joined
from encoder.drawing.picture import Picture, escape
from encoder.drawing.plotly_js import plotly_js
from encoder.version import __version__

#: The name of the `<meta>` that holds the run of a page.
RUN = "encoderscope-run"
#: Rows of a table; longer ones are cut, with a note.
LONGEST_TABLE = 200

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Section:
    """One part of a report: a heading, and below it a figure, a picture, sentences and a table, if given.

    figure: interactive, `height` pixels high; picture: a `Picture`, or SVG, which is inserted without escaping;
    others: of a picture, what a click on another layer or head shows; sentences: paragraphs of plain text; table: shown
    without its index, with three decimals.
    """

    title: str
    figure: go.Figure | None = None
    picture: Picture | str = ""
    sentences: Sequence[str] = ()
    table: pd.DataFrame | None = None
    height: int = 600
    others: Mapping[str, Picture] | None = None


def document(
    title: str,
    sections: Sequence[Section],
    *,
    text: str = "",
    facts: Mapping[str, object] | None = None,
    code: str = "",
    link: str = "",
    note: str = "",
    run: str = "",
    footer: str = "",
    scripts: Sequence[str] = (),
    css: str = "",
) -> str:
    """A whole HTML page that opens without a network.

    Args:
        title: the page's heading and the browser tab's name.
        sections: what it shows, in order.
        text: the input sentence.
        facts: name -> value: model, layer, head and the settings.
        code: Python that gives the same numbers.
        link: the address of the same view in the app.
        note: what the link leaves out.
        run: what `encoder.run.address.write_text` gives for the run that the page shows; `open_run` reads it again.
        footer: the last line.
        scripts, css: more of both; scripts run after those of the sections.
    """
    more, css = scripts, (HERE / "document.css").read_text(encoding="utf-8") + css
    scripts = []
    if any(section.figure is not None or _is_figure(section.picture) for section in sections):
        scripts += [plotly_js(), joined(HERE / "document.js")]
    if any(isinstance(section.picture, Picture) for section in sections):
        scripts.append(pictures.script())
        css += pictures.style()
    scripts += more
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f'<blockquote dir="auto">{escape(text)}</blockquote>'] if text else []
    if facts:
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items())
        body.append(f"<dl>{rows}</dl>")
    body += [_section(section, number) for number, section in enumerate(sections)]
    if code:
        body.append(f"<section><h2>The same in Python</h2><pre><code>{escape(code)}</code></pre></section>")
    if link:
        body.append(f'<p>This view in the app: <a href="{escape(link)}" rel="noreferrer">{escape(link)}</a></p>')
        body += [f"<p>{escape(note)}</p>"] if note else []
    body += [f"<footer><p>{escape(footer)}</p></footer>"] if footer else []
    body += [f"<script>{script}</script>" for script in scripts]
    page = Template((HERE / "document.html").read_text(encoding="utf-8"))
    named = f'<meta name="{RUN}" content="{escape(run)}">' if run else ""
    return page.substitute(
        policy=_policy(scripts), version=__version__, run=named, title=escape(title), css=css, body="\n".join(body)
    )


def _is_figure(picture: Picture | str) -> bool:
    return isinstance(picture, Picture) and picture.kind == "figure"


def _policy(scripts: Sequence[str]) -> str:
    """A policy that fetches nothing and runs only these scripts, identified by their SHA-256."""
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"&#39;sha256-{digest}&#39;" for digest in digests) or "&#39;none&#39;"
    return (
        "default-src &#39;none&#39;; img-src data: blob:; style-src &#39;unsafe-inline&#39;; "
        f"script-src {allowed}; base-uri &#39;none&#39;; form-action &#39;none&#39;"
    )


def _section(section: Section, number: int) -> str:
    narrow = section.figure is None and not section.picture  # tables lie side by side
    kind = ' class="narrow"' if narrow else ""
    parts = [f"<section{kind}>" + (f"<h2>{escape(section.title)}</h2>" if section.title else "")]
    if section.figure is not None:
        parts.append(
            f'<div class="figure" style="height:{int(section.height)}px" data-source="figure-{number}" '
            f'role="img" aria-label="{escape(section.title)}"></div>'
            f'<script type="application/json" id="figure-{number}">{pictures.figure_json(section.figure)}</script>'
        )
    if section.picture:
        parts.append(section.picture if isinstance(section.picture, str) else section.picture.element(section.others))
    parts += [f'<p class="caption">{escape(sentence)}</p>' for sentence in section.sentences]
    parts += [_table(section.table)] if section.table is not None else []
    return "\n".join([*parts, "</section>"])


def _table(frame: pd.DataFrame) -> str:
    numeric = {name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name])}
    head = "".join(f"<th{_kind(name in numeric)}>{escape(name)}</th>" for name in frame.columns)
    rows = []
    for row in frame.head(LONGEST_TABLE).to_dict("records"):
        cells = (f"<td{_kind(name in numeric)}>{escape(_cell(value))}</td>" for name, value in row.items())
        rows.append(f"<tr>{''.join(cells)}</tr>")
    more = len(frame) - LONGEST_TABLE
    cut = f'<p class="caption">The first {LONGEST_TABLE:,} of {len(frame):,} rows.</p>' if more > 0 else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>{cut}'


def _kind(number: bool) -> str:
    return ' class="number"' if number else ""


def _cell(value: object) -> str:
    if isinstance(value, float):
        if np.isnan(value):
            return ""
        return f"{value:.3f}" if abs(value) >= 5e-4 or value == 0 else f"{value:.1e}"
    return "" if value is None else str(value)
