"""`python -m docs.glossary` writes docs/glossary.md from the terms of the page Glossary."""

from __future__ import annotations

from pathlib import Path

from benchmarks.serving import pages
from pages.core.words import glossary

FILE = Path(__file__).with_name("glossary.md")


def text() -> str:
    """What docs/glossary.md holds."""
    return glossary.document(pages())


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
