"""A run as one value: the key of its numbers, an address, Python lines and a command line."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import encoder
from encoder import EncoderError
from encoder.cli import main
from encoder.edits import AblateHead, Replace
from encoder.export import report
from encoder.run import DECODER, TRAINED, UNTRAINED, Media, ModelSpec, Place, Run, Text, Untrained, address, code
from encoder.run.command import command, of_texts
from encoder.run.files import open_run

pytestmark = pytest.mark.sample(3, "another run")

CAT = "The cat sat on the mat"
HOSTILE = 'He said "no" \\ & twice\n#é🙂 100%'
SMALL = ModelSpec(UNTRAINED, untrained=Untrained(layers=1, heads=2, width=16, ffn=24, attention=("causal", "sink")))

RUNS = {
    "default": Run(input=Text(CAT)),
    "place": Run(ModelSpec("twin-post"), Text(CAT), place=Place(2, 1, 3, 0)),
    "pair": Run(ModelSpec(norm="pre", device="cpu"), Text(HOSTILE, "and & more")),
    "window": Run(input=Text("a b c " * 400, window=1, stride=100)),
    "padding": Run(input=Text(CAT, pad_to=14, padding=True)),
    "hidden padding": Run(input=Text(CAT, pad_to=14)),
    "edits": Run(
        input=Text(CAT), edits=(AblateHead(1, 3), Replace(point="z", layer=0, positions=(0,), source=HOSTILE))
    ),
    "untrained": Run(replace(SMALL, norm="pre"), Text(CAT)),
    "bfloat16": Run(replace(SMALL, dtype="bfloat16"), Text(CAT)),
    "decoder": Run(ModelSpec("dates-pre", tower=DECODER), Text("21/3/98"), "1998-03-21"),
    "image": Run(ModelSpec("digits-pre"), Media("image", "3")),
    "tower": Run(ModelSpec("digit-words", tower="image"), Media("image", "3")),
    "folder": Run(ModelSpec("some/folder"), Text(CAT)),
    "trained": Run(ModelSpec(f"{TRAINED}abc"), Text(CAT)),
}
OF_TEXT = [name for name in RUNS if name not in ("image", "tower", "folder", "trained")]


@pytest.mark.parametrize("name", RUNS)
def test_an_address_names_the_same_run(name: str) -> None:
    run = RUNS[name]
    values = address.write(run)
    assert address.read(values) == run
    assert hash(address.read(values)) == hash(run)
    link = address.Link("heads", run, {"view": "lines"})
    again = address.read_link(link.address)
    assert (again.page, again.run, dict(again.own)) == ("heads", run, {"view": "lines"})


@pytest.mark.parametrize("name", OF_TEXT)
def test_the_python_lines_make_the_same_trace(name: str) -> None:
    run, names = RUNS[name], {}
    lines = code.python_lines(run)
    exec(lines, names)
    expected = run.trace()
    assert names["trace"].tokens == expected.tokens
    assert torch.equal(names["trace"].output, expected.output)


@pytest.mark.parametrize("name", [name for name in OF_TEXT if name != "decoder"])
def test_the_command_line_gives_the_same_weights(name: str, tmp_path: Path) -> None:
    run = RUNS[name].but(layer=0, head=1, query=None, key=None)
    words = shlex.split(command(run))
    assert words[:2] == ["encoderscope", "trace"]
    assert main.main([*words[1:], "--out", str(tmp_path / "head.csv")]) == 0
    found = pd.read_csv(tmp_path / "head.csv").iloc[:, -1].to_numpy()
    expected = encoder.export.map(run.trace(), 0, 1, options=encoder.export.Options(padding=True)).frame()
    np.testing.assert_allclose(found, expected.iloc[:, -1].to_numpy(), atol=1e-6)


def test_the_command_line_of_texts_explains_the_same_score(tmp_path: Path) -> None:
    texts, spec = ["-5 cats", HOSTILE, CAT], ModelSpec("twin-post", norm="pre")
    words = shlex.split(of_texts("why", spec, texts, query=CAT, of=0, each_word=True, k=None))
    assert words[:3] == ["encoderscope", "why", "twin-post"]
    assert main.main([*words[1:], "--out", str(tmp_path / "why.csv")]) == 0
    found = pd.read_csv(tmp_path / "why.csv")
    score = encoder.explain_score(spec.open(), CAT, texts[0]).score
    assert found.loc[found["what"] == "pair", "value"].sum() == pytest.approx(score, abs=1e-5)
    assert of_texts("why", RUNS["untrained"].model, texts) == of_texts("why", RUNS["trained"].model, texts) == ""


def test_a_run_is_one_value() -> None:
    run = Run(input=Text(CAT))
    changed = run.but(norm="pre", text="A dog", layer=2, query=1, edits=(AblateHead(0, 0),))
    assert changed.model.norm == "pre"
    assert changed.text == "A dog"
    assert (changed.place.layer, changed.place.query) == (2, 1)
    assert changed.of_pass == changed.but(layer=5).of_pass != changed
    assert run.text == CAT, "a run never changes"
    assert len({run, run.but(), run.but(layer=None)}) == 1
    assert run.but(pad_to=9).about("other").input == Text("other", pad_to=9)


def test_what_a_run_does_not_have_is_an_error() -> None:
    image = RUNS["image"]
    with pytest.raises(TypeError, match="window"):
        image.but(window=1)
    with pytest.raises(EncoderError, match="image"):
        _ = image.text
    with pytest.raises(EncoderError, match="save it"):
        RUNS["trained"].trace()
    with pytest.raises(EncoderError, match="no decoder"):
        RUNS["default"].but(tower=DECODER).trace()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"layer": "two"}, "layer=.*whole number"),
        ({"i": "-1"}, "i=.*whole number"),
        ({"norm": "middle"}, "norm=.*trained, pre, post"),
        ({"dtype": "int8"}, "dtype=.*float32"),
        ({"padding": "yes"}, "padding=.*0, 1"),
        ({"edits": "explode"}, "explode"),
    ],
)
def test_a_value_that_is_none_is_said(values: dict[str, str], said: str) -> None:
    with pytest.raises(EncoderError, match=said):
        address.read(values)


def test_an_edit_that_is_switched_off_is_no_edit() -> None:
    text = "ablate_l1_h3~!ablate_l0_h0"
    assert address.read({"edits": text}).edits == (AblateHead(1, 3),)


def test_an_image_of_a_file_is_run_by_its_name(tmp_path: Path) -> None:
    from PIL import Image

    file = tmp_path / "nine.png"
    Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8) * 4).save(file)
    run = Run(ModelSpec("digits-pre"), Media("image", str(file)))
    model = run.model.open()
    expected = model.trace(model.open(file))
    assert torch.equal(run.trace(model).output, expected.output)


def test_a_trace_names_the_run_that_makes_it_again() -> None:
    for name in ("pair", "padding", "hidden padding", "edits"):
        run = RUNS[name]
        assert code.run_of(run.trace(), run.model) == run.of_pass


def test_a_report_names_the_run_that_makes_it_again(tmp_path: Path) -> None:
    run = RUNS["edits"].but(layer=2, head=3)
    file = tmp_path / "head.html"
    trace = run.trace()
    view = encoder.export.map(trace, 2, 3)
    file.write_text(report.page(trace.model, run.model, view), encoding="utf-8")
    assert open_run(file) == run
    assert main.main(["trace", "--run", str(file), "--out", str(tmp_path / "again.csv")]) == 0
    again = pd.read_csv(tmp_path / "again.csv").iloc[:, -1].to_numpy()
    np.testing.assert_allclose(again, view.frame().iloc[:, -1].to_numpy(), atol=1e-6)


def test_a_table_names_its_run(tmp_path: Path) -> None:
    run = RUNS["pair"]
    file = tmp_path / "table.parquet"
    file.write_bytes(report.as_parquet(pd.DataFrame({"a": [1]}), {"run": report.address_of(run)}))
    assert open_run(file) == run


@pytest.mark.parametrize("name", ["a.html", "b.parquet", "missing.html"])
def test_a_file_without_a_run_is_said(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if name != "missing.html":
        file.write_bytes(b"<html></html>")
    with pytest.raises(EncoderError, match=name):
        open_run(file)
