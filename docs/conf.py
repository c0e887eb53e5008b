"""Sphinx's settings for `make docs`: MyST, since the documents are Markdown that a repository shows too.

MkDocs, which reads the same Markdown, has had no release since 2024, and its theme Material is no longer maintained.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.util import logging

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import encoder  # noqa: E402
from docs import (  # noqa: E402
    api,
    commands,
    families,
    faults,
    gallery,
    how_to,
    keys,
    licences,
    limits,
    pictures,
    questions,
    references,
    sought,
)

project, author, copyright = "Encoderscope", "The Encoderscope authors", "The Encoderscope authors"
version = release = encoder.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["paper", "skills"]
html_theme, html_title, html_show_sphinx = "furo", f"Encoderscope {version}", False
html_extra_path = ["alignment.csv"]
html_search_scorer = str(HERE / "search_scorer.js")
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"

#: What a build writes: texts from elsewhere in the repository, and lists made from the code.
GENERATED = HERE / "generated"
TEXTS = {
    "readme": ROOT / "README.md", "contributing": ROOT / "CONTRIBUTING.md", "architecture": ROOT / "ARCHITECTURE.md",
    "changelog": ROOT / "CHANGELOG.md", "security": ROOT / ".github/SECURITY.md",
    "conduct": ROOT / ".github/CODE_OF_CONDUCT.md", "glossary": ROOT / "encoder/words/glossary.md",
    "references": ROOT / "encoder/words/references.md",
}  # fmt: skip
#: Page that a build writes -> what it is made of: documents link to that, so a repository opens the link, too.
LISTS = {
    "api": ROOT / "encoder/__init__.py", "commands": ROOT / "encoder/cli/commands.toml",
    "families": ROOT / "encoder/checkpoints/families", "faults": HERE / "faults.py",
    "how_to": ROOT / "pages/core/frame/how_to.yml", "keys": ROOT / "encoder/checkpoints/keys.toml",
    "licences": HERE / "licences.py", "limits": ROOT / "pages/base/access/limits.py", "pages": ROOT / "app.py",
    "questions": ROOT / "pages/teaching/questions/quantities.py",
}  # fmt: skip
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")


def read(app: Any, name: str, source: list[str]) -> None:
    """Point the links of a document to what the pages hold. A link to code becomes its words; a dead link warns."""
    folder, here = TEXTS.get(Path(name).name, HERE / f"{name}.md").parent, (HERE / name).parent

    def link(found: re.Match[str]) -> str:
        picture, words, path, place = found.groups()
        target = (folder / path).resolve()
        if not target.exists():
            logging.getLogger(__name__).warning("%s: nothing is at %s", name, path)
        shown = next((GENERATED / f"{one}.md" for one, of in (TEXTS | LISTS).items() if of == target), target)
        if not shown.is_relative_to(HERE) or shown.suffix == ".py":
            return words
        if words == target.name and shown.suffix == ".md":  # a page's name in place of its file's
            words = shown.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"{picture}[{words}]({Path(os.path.relpath(shown, here)).as_posix()}{place or ''})"

    if name == "research":
        source[0] = gallery.with_pictures(source[0])
    text = re.sub(
        r"<picture>.*?</picture>", "![All heads, and one of them](docs/heads-light.png)", source[0], flags=re.S
    )
    text = LINK.sub(link, text)
    source[0] = sought.with_words(Path(name).name, with_tree(text) if name == "index" else text)


def with_tree(text: str) -> str:
    """The index with the order of the pages: a group for each item of its list, whose links are the pages."""
    for caption, links in re.findall(r"^- \*\*(\w+):\*\* (.*(?:\n  .*)*)", text, re.MULTILINE):
        pages = "\n".join(re.findall(r"\]\(([^)#]+)\.md\)", links))
        text += f"\n```{{toctree}}\n:caption: {caption}\n:maxdepth: 1\n:hidden:\n{pages}\n```\n"
    return text


def setup(app: Any) -> None:
    """Write what is generated, and read documents and docstrings."""
    (GENERATED / "api").mkdir(parents=True, exist_ok=True)
    made = {name: file.read_text(encoding="utf-8") for name, file in TEXTS.items()}
    made |= api.texts() | {"pages": pictures.text("../pages"), "licences": licences.text(), "families": families.text()}
    made |= {"faults": faults.text(), "keys": keys.text(), "limits": limits.text(), "commands": commands.text()}
    made |= {"questions": questions.text(), "references": references.text(), "how_to": how_to.text()}
    made["readme"] = made["readme"].replace("# Encoderscope\n", "# Install and begin\n", 1)  # the index has that name
    made["glossary"] = re.sub(
        "^Source: .*$", lambda found: references.linked(found[0]), made["glossary"], flags=re.MULTILINE
    )
    (GENERATED / "references.bib").write_text(references.bibtex(), encoding="utf-8")
    for name, text in made.items():
        (GENERATED / f"{name}.md").write_text(text, encoding="utf-8")
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", api.docstring, priority=400)
    app.connect("autodoc-process-signature", api.signature)
