"""A file of the user's own names: the pages of a process that runs it offer them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from encoder import own
from tests.conftest import ROOT

MINE = """
import encoder
encoder.measure.register("first", lambda trace: trace.attentions[..., 0].mean(-1), title="On the first token")
encoder.causal.register("size", lambda model, plain: lambda outputs: outputs.norm(dim=-1).mean(-1))
encoder.edits.register("half", lambda value: value / 2)
"""
PROGRAM = """
from tests.pages.apps import visit

app = visit("heads", measure="first", sort="falling")
assert not app.exception and not app.warning, [one.value for one in app.warning]
assert any("On the first token" in one.options for one in app.selectbox)
app = visit("interventions", outcome="size", edits="call_oz_fhalf_l1")
assert not app.exception and not app.warning, [one.value for one in app.warning]
assert any(one.label == "Outcome" and one.value == "size" for one in app.selectbox)
assert any("half of z" in one.label for one in app.checkbox)
"""


@pytest.mark.slow("opens pages in another process")
def test_the_pages_offer_a_users_own_names(tmp_path: Path):
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env=os.environ | {own.FILE: str(file)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
