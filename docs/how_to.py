"""What people want to do in the app, and where: a page of `make docs`, from the entries of the search (Ctrl K)."""

import re
from pathlib import Path
from typing import Any

import yaml

from benchmarks.serving import pages

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
    "adjust-texts": "“Adjust”",
}
#: Title of an entry -> words that newcomers type into the search of the documents, which then opens this entry.
INDEXED = {
    "Print this page": "print printer paper handout pdf",
    "See it on my phone": "phone mobile tablet",
    "Copy a link to this view": "bookmark share colleague",
    "Save numbers as CSV or a report": "csv excel",
    "Save a picture as PNG or SVG": "png svg",
    "Present on a projector": "projector beamer",
    "Light or dark colours": "dark",
    "What [CLS] and [SEP] are": "cls sep",
}


#: A command line in a sentence, whose hyphens stay as they are.
COMMAND = re.compile(r"encoderscope(?: --?[\w-]+ [\w.]+)+")


def where(entry: dict[str, Any], titles: dict[str, str]) -> str:
    """The page and the control of an entry, in words."""
    page = titles.get(entry.get("page", ""), "")
    control = CONTROLS[entry["control"]] if "control" in entry else ""
    found = ": ".join(filter(None, (f"page {page}" if page else "", control)))
    return f"{found[:1].upper()}{found[1:]}."


def text() -> str:
    """A heading for each entry, then where it is and other words for it; `INDEXED` words are entries of the index."""
    titles, entries = pages(), yaml.safe_load(ENTRIES.read_text(encoding="utf-8"))
    lines = [HEADING]
    for entry in entries:
        own = ", ".join(f"!{word}" for word in INDEXED.get(entry["title"], "").split())
        index = f"\n```{{index}} {own}\n```\n" if own else ""
        asks = COMMAND.sub(r"`\g<0>`", entry["asks"])
        lines += ["", f"## {entry['title']}", index, f"**{where(entry, titles)}** {asks}"]
    return "\n".join(lines) + "\n"
