"""A hook function, an outcome and a measure of one's own: registered once, then used by name."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import encoder
from encoder import EncoderError, causal, corpus, edits, measure, own
from encoder.measure.head_definitions import BY_NAME
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


@pytest.fixture
def first() -> Iterator[str]:
    """A measure: the mean weight on the first token, less a half."""
    measure.register("first", lambda trace: trace.attentions[..., 0].mean(-1) - 0.5, title="On the first token")
    yield "first"
    del BY_NAME["first"]


def test_a_measure_of_ones_own(first: str):
    trace = tiny().trace("the cat")
    found = measure.heads(trace)
    torch.testing.assert_close(torch.tensor(found[first]), trace.attentions[..., 0].mean(-1).double() - 0.5)
    assert first in found.table()
    with pytest.raises(EncoderError, match="first"):
        found["frist"]
    with pytest.raises(EncoderError, match="taken"):
        measure.register("entropy", lambda trace: trace.attentions.mean((-1, -2)))
    with pytest.raises(EncoderError, match="unit="):
        measure.register("second", lambda trace: 0, unit="percent")
    with pytest.raises(EncoderError, match="letters"):
        measure.register("the second", lambda trace: 0)
    for wrong, said in ((lambda trace: trace.attentions, "layers x heads"), (lambda trace: 1 / 0, "ZeroDivision")):
        measure.register(first, wrong)
        with pytest.raises(EncoderError, match=said):
            measure.heads(trace)


def test_an_atlas_has_a_measure_of_ones_own(first: str, tmp_path: Path):
    model, texts = tiny(), ["the cat", "the dog sat", "the mat", "a cat ran"]
    atlas = corpus.build(model, texts, tmp_path / "atlas", corpus.Settings(block_texts=2, replicates=20))
    single = np.stack([measure.heads(model.trace(text))[first] for text in texts])
    np.testing.assert_allclose(atlas.array(first), single.mean(0), atol=1e-6)
    assert (atlas.array(first) < 0).any(), "a number may be negative"
    rows = atlas.histogram(first, 1, 2)
    assert rows["count"].sum() == len(texts)
    assert all(one.value == pytest.approx(single[one.text, 1, 2]) for one in atlas.examples(1, 2, first))
    measure.register(first, lambda trace: np.full((3, 5), np.nan) if trace.n_tokens < 5 else np.ones((3, 5)))
    again = corpus.build(model, texts, tmp_path / "some", corpus.Settings(replicates=20))
    assert int(again.array(first, "n")[0, 0]) == sum(model.trace(text).n_tokens >= 5 for text in texts)
    del BY_NAME[first]
    plain = corpus.build(model, texts, tmp_path / "plain", corpus.Settings(replicates=20))
    assert "own" not in plain.manifest["settings"]
    assert corpus.open_atlas(tmp_path / "atlas").array(first).shape == (3, 5)
    measure.register(first, lambda trace: 0)


def test_a_file_of_ones_own_runs_once_and_a_wrong_one_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "mine.py"
    file.write_text("import encoder\nencoder.edits.register('tenth', lambda value: value / 10)\n1 / 0\n")
    monkeypatch.setenv(own.FILE, str(file))
    own.load.cache_clear()
    with pytest.raises(EncoderError, match="ZeroDivisionError"):
        own.load()
    file.write_text(file.read_text().replace("1 / 0", ""))
    own.load()
    assert edits.FUNCTIONS.pop("tenth")(10) == 1
    own.load()
    assert "tenth" not in edits.FUNCTIONS
    own.load.cache_clear()


def test_every_name_is_found_and_the_import_is_light():
    assert {
        "similarity",
        "causal",
        "probe",
        "search",
        "classify",
        "corpus",
        "export",
        "edits",
        "explain",
        "measure",
        "gradients",
    } <= set(dir(encoder))
    assert set(dir(encoder)) - {"__version__"} == set(encoder.__all__)
    for name in encoder.__all__:
        assert getattr(encoder, name) is not None
    trace = tiny().trace("the cat")
    assert encoder.measure.heads(trace)["entropy"].shape == (3, 5)
    for room in ("measure", "causal", "corpus", "gradients", "probe", "search", "edits", "figures", "export", "train"):
        package = getattr(encoder, room)
        assert sorted(dir(package)) == sorted(package.__all__)
        assert all(getattr(package, name) is not None for name in package.__all__)


def test_help_names_the_function_that_is_called():
    """A function made of a generator has a name and a result of its own."""
    assert inspect.signature(causal.patch).return_annotation is torch.Tensor
    assert causal.patch.__name__ == "patch"
    assert pickle.loads(pickle.dumps(causal.ablate_each_head)) is causal.ablate_each_head
    with pytest.raises(EncoderError, match=r"encoder\.load"):
        causal.ablate_each_head("minilm", "a cat")
    with pytest.raises(EncoderError, match=r"encoder\.load"):
        corpus.over("minilm", ["a cat"], causal.ablate_each_head)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda *_: 1 / 0, "ZeroDivisionError"),
        (lambda *_: exit("bye"), "SystemExit"),
        (lambda *_: "text", "gives str"),
        (lambda *_: None, "gives NoneType"),
        (lambda *_: torch.zeros(3, 3, 3), "shape .3, 3, 3."),
    ],
    ids=["raises", "exits", "gives text", "gives nothing", "gives another shape"],
)
@pytest.mark.parametrize("kind", ["measure", "outcome", "outcome of outputs", "edit"])
def test_a_function_that_fails_is_a_sentence_with_its_line(kind: str, function: Callable[..., Any], says: str):
    model = tiny()
    line = str(function.__code__.co_firstlineno)
    with pytest.raises(EncoderError, match=f"{says}") as found:  # noqa: PT012
        if kind == "measure":
            measure.register("fails", function)
            measure.heads(model.trace("the cat")).values["fails"]
        elif kind == "edit":
            edits.register("fails", function)
            model.trace("the cat", edits=[edits.Call("z", "fails", layer=1)])
        else:
            causal.register("fails", function if kind == "outcome" else lambda *_: function)
            causal.ablate_each_head(model, "the cat", "fails")
    BY_NAME.pop("fails", None)
    assert f"line {line}" in str(found.value)
    assert "fails" in str(found.value)


@pytest.mark.parametrize("source", ["raise SystemExit(3)", "def", "1 / 0", "import none_like_this"])
def test_a_file_that_fails_is_a_sentence(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own.py").write_text(f"\n{source}\n")
    monkeypatch.setenv(own.FILE, str(tmp_path / "own.py"))
    with pytest.raises(EncoderError, match="line 2"):
        own.load.__wrapped__()
