"""docs/research.md as notebooks: `python -m docs.notebooks FOLDER` writes one for each of its questions.

A notebook has the imports and models that all questions share, the question with its paper, its lines, the picture that
they end with once they are run, and what they found here. `tests/test_research.py` runs the same cells.
"""

import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).with_name("research.md")
BLOCK = re.compile(r"```python( setup)?\n(.*?)```", re.DOTALL)


def questions() -> dict[str, tuple[str, str]]:
    """The question -> its heading with its paper, and its lines."""
    found = re.findall(r"^(### ([^\n]+)\n\n[^\n]+)\n\n```python\n(.*?)```", _text(), re.DOTALL | re.MULTILINE)
    return {question: (paragraph, lines) for paragraph, question, lines in found}


def findings() -> dict[str, tuple[str, str]]:
    """The question -> what its lines found here, and for what this holds."""
    found = re.findall(r"```\n\n\*\*Found:\*\* ([^\n]+)\n\n\*\*Holds for:\*\* ([^\n]+)", _text())
    return dict(zip(questions(), found, strict=True))


def setup() -> str:
    """The lines that come before every question's."""
    return next(lines for is_setup, lines in BLOCK.findall(_text()) if is_setup)


def file_name(question: str) -> str:
    """The first words of a question, for the names of its files."""
    return "-".join(re.findall(r"\w+", question.lower())[:6])


def notebook(question: str) -> dict[str, Any]:
    """The notebook of one question, nbformat 4."""
    paragraph, lines = questions()[question]
    found, limit = findings()[question]
    said = f"**Found:** {found}\n\n**Holds for:** {limit}"
    cells = [_cell("markdown", paragraph), _cell("code", setup()), _cell("code", lines), _cell("markdown", said)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


def _cell(kind: str, text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"cell_type": kind, "id": hashlib.sha256(text.encode()).hexdigest()[:16], "metadata": {}}
    found["source"] = text.strip().splitlines(keepends=True)
    return found | ({"outputs": [], "execution_count": None} if kind == "code" else {})


def _text() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Write the notebooks, numbered in the order of the document."""
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for number, question in enumerate(questions(), 1):
        text = json.dumps(notebook(question), indent=1, ensure_ascii=False)
        (folder / f"{number:02}-{file_name(question)}.ipynb").write_text(f"{text}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
