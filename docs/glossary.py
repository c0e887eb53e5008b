"""`python -m docs.glossary` writes docs/glossary.md from the terms of the page Glossary."""

from __future__ import annotations

import ast
from pathlib import Path

from pages.core import glossary

FILE = Path(__file__).with_name("glossary.md")
REGISTRY = Path(__file__).parent.parent / "app.py"


def titles() -> dict[str, str]:
    """Folder of a page -> its title. app.py is read, as it would draw a page when imported."""
    calls = [node for node in ast.walk(ast.parse(REGISTRY.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    rooms = [call.args for call in calls if getattr(call.func, "id", "") == "Room"]
    return {ast.literal_eval(folder): ast.literal_eval(title) for folder, title, *_ in rooms}


if __name__ == "__main__":
    FILE.write_text(glossary.document(titles()), encoding="utf-8")
