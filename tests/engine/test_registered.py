"""A hook function and an outcome of one's own: registered once, then used by name."""

from __future__ import annotations

import pytest
import torch

import encoder
from encoder import EncoderError, causal, edits
from tests.engine.conftest import tiny


def test_a_function_travels_by_its_name():
    edits.register("half", lambda value: value / 2)
    called = edits.Call("z", "half", layer=1)
    assert edits.parse(edits.format([called])) == (called,)
    assert "half" in called.describe(edits.Names())
    model = tiny()
    by_name, scaled = (model.trace("the cat", edits=[one]) for one in (called, edits.Scale("z", 0.5, layer=1)))
    torch.testing.assert_close(by_name.output, scaled.output)
    with pytest.raises(EncoderError, match="register"):
        edits.Call("z", "third")
    with pytest.raises(EncoderError, match="register"):
        edits.parse("call_oz_fthird")
    with pytest.raises(EncoderError, match="name only"):
        edits.format([edits.Call("z", lambda value: value)])


def test_an_outcome_of_ones_own():
    causal.register("norm", lambda model, plain: lambda outputs: outputs.norm(dim=(-1, -2)))
    model = tiny()
    effects = causal.ablate_each_head(model, "the cat", "norm")
    off = model.trace("the cat", edits=[edits.AblateHead(1, 2)])
    assert float(effects[1, 2]) == pytest.approx(
        float(off.output.norm() - model.trace("the cat").output.norm()), abs=1e-5
    )
    assert model.trace("the cat").gradients("norm").outcome > 0
    with pytest.raises(EncoderError, match="norm"):
        causal.as_outcome("nrom")


def test_every_name_is_found_and_the_import_is_light():
    assert {"similarity", "causal", "probe", "search", "classify", "corpus", "export", "edits", "explain", "measure",
            "gradients"} <= set(dir(encoder))  # fmt: skip
    assert set(dir(encoder)) - {"__version__"} == set(encoder.__all__)
    for name in encoder.__all__:
        assert getattr(encoder, name) is not None
    trace = tiny().trace("the cat")
    assert encoder.measure.heads(trace)["entropy"].shape == (3, 5)
    assert encoder.measure.heads.head_measures(trace)["entropy"].shape == (3, 5)
    for name in encoder.measure.__all__:
        assert getattr(encoder.measure, name) is not None
