"""Sphinx's settings for `make docs`: MyST, since the documents are Markdown that a repository shows too.

MkDocs, which reads the same Markdown, has had no release since 2024, and its theme Material is no longer maintained.
"""

import os
import re
import sys
from inspect import isclass, ismodule
from pathlib import Path
from typing import Any

from sphinx.util import logging

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

import encoder  # noqa: E402
from docs import commands, families, faults, keys, licences, limits, pictures, questions  # noqa: E402

project, author, copyright = "Encoderscope", "The Encoderscope authors", "The Encoderscope authors"
version = release = encoder.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["paper", "skills"]
html_theme, html_title, html_show_sphinx = "furo", f"Encoderscope {version}", False
html_extra_path = ["alignment.csv"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True

#: What a build writes: texts from elsewhere in the repository, and lists made from the code.
GENERATED = HERE / "generated"
TEXTS = {
    "readme": ROOT / "README.md", "contributing": ROOT / "CONTRIBUTING.md", "architecture": ROOT / "ARCHITECTURE.md",
    "changelog": ROOT / "CHANGELOG.md", "security": ROOT / ".github/SECURITY.md",
    "conduct": ROOT / ".github/CODE_OF_CONDUCT.md", "glossary": ROOT / "encoder/words/glossary.md",
    "references": ROOT / "encoder/words/references.md",
}  # fmt: skip
API = """# The Python interface

Generated from the docstrings; [What stays](../stable.md) says which names are stable. Shapes: L layers, H heads,
T tokens, D width, K width of a head, F width of the feed-forward layer.
"""
#: README's links begin with the repository's address, since a package index shows it, too.
HERE_AT_HOME = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/[\w-]+/encoderscope/(?:blob/)?main/")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?\)")


def api() -> str:
    """Every name of `encoder.__all__`; functions and classes first, then the modules."""
    values = {name: getattr(encoder, name) for name in encoder.__all__}
    names = [name for name, value in values.items() if not ismodule(value)]
    parts = [API, "```{eval-rst}"]
    for name in sorted(names, key=lambda name: (isclass(values[name]), name.lower())):
        kind, members = ("class", ["   :members:"]) if isclass(values[name]) else ("function", [])
        parts += [f".. auto{kind}:: encoder.{name}", *members, ""]
    parts += ["```", ""]
    for name in sorted(set(values) - set(names)):
        parts += [
            f"## encoder.{name}",
            "",
            "```{eval-rst}",
            f".. automodule:: encoder.{name}",
            "   :members:",
            "   :imported-members:",
            "   :no-index:",
            "```",
            "",
        ]
    return "\n".join(parts)


def read(app: Any, name: str, source: list[str]) -> None:
    """Point the links of a document to what the pages hold. A link to code becomes its words; a dead link warns."""
    folder, here = TEXTS.get(Path(name).name, HERE / f"{name}.md").parent, (HERE / name).parent

    def link(found: re.Match[str]) -> str:
        picture, words, path, place = found.groups()
        target = (folder / path).resolve()
        if not target.exists():
            logging.getLogger(__name__).warning("%s: nothing is at %s", name, path)
        shown = next((GENERATED / f"{one}.md" for one, text in TEXTS.items() if text == target), target)
        if not shown.is_relative_to(HERE) or shown.suffix == ".py":
            return words
        if words == target.name and target.suffix == ".md":  # a page's name in place of its file's
            words = target.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        return f"{picture}[{words}]({Path(os.path.relpath(shown, here)).as_posix()}{place or ''})"

    text = re.sub(
        r"<picture>.*?</picture>", "![All heads, and one of them](docs/heads-light.png)", source[0], flags=re.S
    )
    source[0] = LINK.sub(link, HERE_AT_HOME.sub("", text))


def plain(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    """A docstring here is plain text with `code`: mark code as reST does, escape other marks, set code blocks apart."""
    made: list[str] = []
    for line in lines:
        parts = re.split(r"(`[^`]+`)", line)
        parts[::2] = [re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", part) for part in parts[::2]]
        parts[1::2] = [f"`{part}`" for part in parts[1::2]]
        if line.startswith("    ") and len(made) > 1 and not made[-1] and not made[-2].startswith("    "):
            made += ["::", ""]
        made.append(line if line.startswith("    ") and "::" in made else "".join(parts))
    lines[:] = made


def setup(app: Any) -> None:
    """Write what is generated, and read documents and docstrings."""
    GENERATED.mkdir(exist_ok=True)
    made = {name: file.read_text(encoding="utf-8") for name, file in TEXTS.items()}
    made |= {"api": api(), "pages": pictures.text("../pages"), "licences": licences.text(), "families": families.text()}
    made |= {"faults": faults.text(), "keys": keys.text(), "limits": limits.text(), "commands": commands.text()}
    made["questions"] = questions.text()
    for name, text in made.items():
        (GENERATED / f"{name}.md").write_text(text, encoding="utf-8")
    app.connect("source-read", read)
    app.connect("autodoc-process-docstring", plain, priority=400)
