"""A Conformer in the app: where its norms are said to be, and the switches of all its sublayers."""

from __future__ import annotations

from pathlib import Path

import pytest

from encoder.edits import Zero, link
from tests.load import every_family
from tests.pages.apps import assert_well, visit, written
from tests.pages.test_model import picture


@pytest.fixture
def conformer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The values of a link to it."""
    case = every_family.ALL["wav2vec2-conformer"]
    every_family.write(case, case.make(), tmp_path / "conformer")
    monkeypatch.setenv("ENCODERSCOPE_MODELS_ROOT", str(tmp_path))
    return {"model": "other", "source": "conformer", "layer": "1", "head": "2"}


def test_its_norms_and_its_switches(conformer: dict[str, str]) -> None:
    app = visit("norms", **conformer)
    assert_well(app)
    assert "one more LayerNorm closes each layer" in written(app)
    off = (Zero("first_ffn_out", layer=1), Zero("convolution_out", layer=1))
    app = visit("model", start="1", edits=link.format(off), **conformer)
    assert_well(app)
    on = {one["name"]: one["on"] for one in picture(app)["switches"]["power"]}
    assert on == {"first_ffn": False, "attention": True, "head": True, "convolution": False, "ffn": True}
