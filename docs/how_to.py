"""What people want to do in the app, and where: a page of `make docs`, from the entries of the search (Ctrl K)."""

import ast
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml

from benchmarks.serving import addresses, pages
from encoder.cli.app_location import find_app

HEADING = """# How do I …?

In the app, press Ctrl K and type what you want in your own words: the search opens the control."""
ENTRIES = Path(__file__).parents[1] / "pages/core/frame/how_to.yml"
#: Where a control is: the key by which the search opens it -> words.
CONTROLS = {
    "menu": "the menu ⋮ at the top",
    "present": "the button next to the menu ⋮",
    "view-text": "the text field above the picture",
    "view-model": "the list of models",
    "view-source": "the list of models, “Folder or Hub id”",
    "lazy-settings": "“Examples and settings”, right of the input",
    "lazy-take": "“Export and share”, below the picture",
    "lazy-model-ways": "“Where to begin”",
    "model-picture": "the picture",
    "hide-special": "the switch below the map",
    "adjust-texts": "“Your texts”",
}
#: Title of an entry -> words that newcomers type into the search of the documents, which then opens this entry.
INDEXED = {
    "Print this page": "print printer paper handout pdf",
    "See it on my phone": "phone mobile tablet wifi",
    "Copy a link to this view": "bookmark share colleague",
    "Save numbers as CSV or a report": "csv excel",
    "Save a picture as PNG or SVG": "png svg",
    "Present on a projector": "projector beamer",
    "Light or dark colours": "dark",
    "Why does [CLS] get so much attention?": "cls sink",
    "What [CLS] and [SEP] are": "sep",
}


def groups() -> dict[str, str]:
    """Folder of each page -> where it is in the bar, in words. The registry is read, not imported."""
    found = {}
    for node in ast.walk(ast.parse(find_app().read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SECTIONS":
            assert isinstance(node.value, ast.Dict)
            for group, listed in zip(node.value.keys, node.value.values, strict=True):
                name = ast.literal_eval(group or listed)
                assert isinstance(listed, ast.List)
                for call in listed.elts:
                    assert isinstance(call, ast.Call)
                    folder, title = (ast.literal_eval(one) for one in call.args[:2])
                    found[folder] = "in the bar" if title == name else f"under **{name}** in the bar"
    return found


def steps(entry: dict[str, Any], titles: dict[str, str]) -> list[str]:
    """What to do, as Markdown: its own steps, or those that follow from its page, its control and its values."""
    if "steps" in entry:
        return list(entry["steps"])
    found, page = [], entry.get("page", "")
    if page:
        at = titles[page].lower().replace("/", "").replace(" ", "-")
        found.append(f"Open the page [{titles[page]}](pages.md#{at}), {groups()[page]}.")
    if "control" in entry:
        found.append(f"Use {CONTROLS[entry['control']]}.")
    if page and "values" in entry:
        found.append(f"Its address ends with `{addresses()[page]}?{urlencode(entry['values'])}`, which opens it.")
    return found


def text() -> str:
    """A heading for each entry, then its steps and other words for it; `INDEXED` words are entries of the index."""
    titles, entries = pages(), yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))
    lines = [HEADING]
    for entry in entries:
        own = ", ".join(f"!{word}" for word in INDEXED.get(entry["title"], "").split())
        index = f"\n```{{index}} {own}\n```\n" if own else ""
        numbered = [f"{number}. {step}" for number, step in enumerate(steps(entry, titles), 1)]
        lines += ["", f"## {entry['title']}", index, *numbered, "", f"*Also asked:* {entry['asks']}"]
    return "\n".join(lines) + "\n"
