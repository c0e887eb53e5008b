"""The Python in the documents runs, and each research question takes five lines and shows a picture."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from docs import gallery
from docs.gallery import last_value
from docs.notebooks import file_name, findings, main, notebook, questions, setup
from encoder.inputs import digits, spoken_digits
from encoder.inputs.sound_files import wav_bytes
from encoder.measure.head_definitions import BY_NAME, own
from tests.conftest import ROOT
from tests.findings import of_the_run, quoted

DOCUMENT = ROOT / "docs/research.md"
#: Question -> the cells of its notebook.
TASKS = {one: [*map("".join, (cell["source"] for cell in notebook(one)["cells"]))] for one in questions()}


@pytest.fixture(scope="module")
def names() -> Iterator[dict[str, Any]]:
    import pandas as pd

    found: dict[str, Any] = {}
    exec(setup(), found)
    yield found
    pd.options.plotting.backend = "matplotlib"


def test_there_are_twenty_tasks_of_papers():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert len(TASKS) == 20
    assert len(re.findall(r"^### .*\?\n\n.*(?:19|20)\d\d", text, re.MULTILINE)) == 20


def test_each_task_has_its_picture():
    """`python -m docs.gallery` makes them; `make docs` shows them."""
    assert {file.stem for file in gallery.PICTURES.glob("*.webp")} == set(map(file_name, TASKS))
    text = gallery.with_pictures(DOCUMENT.read_text(encoding="utf-8"))
    assert re.findall(r"!\[(.+?)\]\(research/", text) == list(TASKS)


#: The fast tier leaves out the question that takes longest.
LONGEST = "Why are two sentences alike?"
SLOW = pytest.mark.slow("integrates over many steps")


@pytest.mark.parametrize("question", [pytest.param(one, marks=SLOW if one == LONGEST else ()) for one in TASKS])
def test_a_task_takes_five_lines_shows_a_picture_and_finds_what_is_said(question: str, names: dict[str, Any]):
    said, before, lines, _ = TASKS[question]
    assert question in said
    assert before == setup().strip()
    assert len(lines.splitlines()) <= 5
    made = dict(names)
    shown = last_value(lines, made)
    drawn = getattr(shown, "data", None)
    assert drawn or "<iframe" in shown._repr_html_(), question
    assert quoted(" ".join(findings()[question])) == of_the_run(file_name(question), made | {"shown": shown})


def test_a_wrong_number_head_or_token_is_found():
    assert quoted("L0 H2 gives −0.47 to “cat” in layer 1 ([2](x-3.md)).") == [(0, 2), -0.4749, "cat", 1, 2]
    assert quoted("0.47") != [0.48]
    assert quoted("12 texts") != [13]


def test_notebooks_are_written(tmp_path: Path):
    assert main([str(tmp_path / "notebooks")]) == 0
    files = sorted((tmp_path / "notebooks").glob("*.ipynb"))
    assert len(files) == 20
    content = json.loads(files[0].read_text(encoding="utf-8"))
    kinds = [cell["cell_type"] for cell in content["cells"]]
    assert (content["nbformat"], kinds) == (4, ["markdown", "code", "code", "markdown"])
    assert len({cell["id"] for cell in content["cells"]}) == 4


def blocks(name: str) -> list[str]:
    """The Python of a document, without what is marked as not run."""
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", ["README.md", "docs/python.md", "docs/models.md", "docs/own-encoder.md"])
def test_the_examples_of_the_document_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text("text\na cat\na dog\n", encoding="utf-8")
    Image.fromarray((digits.decode(digits.examples()["5"]) * 255).astype("uint8")).save("digit.png")
    (tmp_path / "seven.wav").write_bytes(wav_bytes(spoken_digits.examples()["seven"].sound))
    found: dict[str, Any] = {}
    assert blocks(name)
    for block in blocks(name):
        exec(block, found)
    for one in own():  # which an example registered: other tests must not meet it
        del BY_NAME[one.name]
    assert "encoder" in found
