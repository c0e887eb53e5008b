"""The pictures of docs/research.md: `python -m docs.pictures research` runs their lines, and photographs the results.

`make docs` puts each picture after its lines. The test of the document runs the same lines.
"""

import ast
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from docs.notebooks import file_name, questions, setup
from docs.references import linked

PICTURES = Path(__file__).with_name("research")
#: Pixels of a figure and of the browser's margin around it, and WebP's quality.
WIDTH, HEIGHT, MARGIN, QUALITY = 720, 400, 8, 70


def last_value(lines: str, names: dict[str, Any]) -> Any:
    """Run the lines; the value of the last one, as a notebook shows it."""
    tree = ast.parse(lines)
    shown = tree.body.pop()
    if not isinstance(shown, ast.Expr):
        raise ValueError(f"the last line shows nothing: {ast.unparse(shown)}")
    exec(compile(tree, "docs", "exec"), names)
    return eval(compile(ast.Expression(shown.value), "docs", "eval"), names)


def shown() -> Iterator[tuple[str, str]]:
    """The name of each question's file, and what its lines show, as a page."""
    names: dict[str, Any] = {}
    exec(setup(), names)
    for question, (_, lines) in questions().items():
        value = last_value(lines, dict(names))
        if hasattr(value, "to_html"):
            value = value.update_layout(width=WIDTH, height=HEIGHT).to_html(include_plotlyjs=True)
        else:
            value = value._repr_html_()
        yield file_name(question), value


def with_pictures(text: str) -> str:
    """The document with links to its papers, and a picture after each question's lines."""
    for question, (paragraph, lines) in questions().items():
        block = f"{paragraph}\n\n```python\n{lines}```\n"
        picture = f"![{question}](research/{file_name(question)}.webp)"
        text = text.replace(block, f"{linked(paragraph)}\n\n```python\n{lines}```\n\n{picture}\n")
    return text


def photograph(browser: Any) -> None:
    """Make all pictures, in a Playwright Browser."""
    PICTURES.mkdir(exist_ok=True)
    page = browser.new_page(viewport={"width": WIDTH + 2 * MARGIN, "height": HEIGHT + 2 * MARGIN}, color_scheme="light")
    for name, html in shown():
        page.set_content(html, wait_until="load")
        page.wait_for_timeout(1500)
        image = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
        image.save(PICTURES / f"{name}.webp", quality=QUALITY, method=6)
    page.close()
