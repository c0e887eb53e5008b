"""The app with a small LayoutLMv3 and a small MarkupLM, whose words have places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from encoder.inputs import box_files, boxes, html_nodes, nodes
from tests.load import boxes as layout
from tests.load import markup
from tests.pages.apps import visit

#: Where places go through, next to Heads.
PAGES = ("contribution", "positions", "norms", "feed_forward", "model", "interventions", "pre_post", "predict", "texts")
BOXES, NODES = box_files.example(), html_nodes.example()
#: Of each model: the values of the address that name its bundled page.
OF_PAGE = {
    "layout": {"text": BOXES.text, "boxes": boxes.write_short(BOXES.boxes)},
    "markup": {"text": NODES.text, "nodes": nodes.write_short(NODES.nodes)},
}


def write(root: Path) -> Path:
    """The folder with both models."""
    layout.write(root / "layout")
    markup.write(root / "markup")
    return root


def opened(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, page: str = "heads", **query: Any) -> AppTest:
    """A page of the app with one of the models."""
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(folder))
    return visit(page, **{"model": "other", "source": source, **query})


def linked(app: AppTest, name: str) -> str | None:
    """A value of the address."""
    found = app.query_params.get(name)
    return found[0] if isinstance(found, list) else found
