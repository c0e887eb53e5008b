"""`encoderscope similarity`, and the files and the figure that it writes."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from encoder import TextEncoder, similarity
from encoder.cli import main
from encoder.export import similarity as export
from encoder.figures.pairs import similarity_heatmap
from encoder.run import ModelSpec

A, B = "The cat sat on the mat", "A kitten rested on a rug"
SIMILARITY = ["similarity", "minilm", "--text", A, "--text", B]


@pytest.fixture(scope="module")
def found(minilm: TextEncoder) -> similarity.Attribution:
    return similarity.attribute(minilm, A, B, 5)


def test_the_command_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture):
    out = tmp_path / "s.html"
    assert (
        main.main(
            ["similarity", "minilm", "--text", "a <b>cat</b>", "--text", "a dog", "--layer", "5", "--out", str(out)]
        )
        == 0
    )
    assert str(out) in capsys.readouterr().out
    page = out.read_text(encoding="utf-8")
    assert "<b>cat" not in page
    assert "integrated Jacobians" in page
    assert 'id="figure-0"' in page
    assert [path.name for path in tmp_path.iterdir()] == ["s.html"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_command_writes_tables(suffix: str, tmp_path: Path, minilm: TextEncoder):
    out = tmp_path / f"s{suffix}"
    assert main.main([*SIMILARITY, "--layer", "output", "--out", str(out)]) == 0
    table = pd.read_csv(out) if suffix == ".csv" else pd.read_parquet(out)
    assert list(table.columns) == ["a", "token_a", "b", "token_b", "value"]
    expected = similarity.attribute(minilm, A, B, 6).matrix
    np.testing.assert_allclose(table.value.to_numpy().reshape(8, 8), expected, atol=1e-9)
    assert table.value.sum() == pytest.approx(0.6124, abs=1e-4)
    row = table[(table.token_a == "cat") & (table.token_b == "kitten")].iloc[0]
    assert (row.a, row.b) == (2, 2)
    if suffix == ".parquet":
        assert table.attrs["Cosine"] == "0.6124"


def test_the_command_prints_the_largest_cells(capsys: pytest.CaptureFixture):
    assert main.main([*SIMILARITY, "--layer", "5", "--steps", "8", "--reference", "zero"]) == 0
    said = capsys.readouterr()
    assert "0.6124" in said.out
    assert "steps: 8" in said.out
    assert len(re.findall(r" -?\d\.\d{3}$", said.out, re.MULTILINE)) == 10
    assert not said.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--layer", "7"], "choose 0 to 6"),
        (["--steps", "0"], "from 1 on"),
        (["--out", "s.txt"], ".html"),
    ],
)
def test_the_command_refuses_in_a_sentence(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main.main([*SIMILARITY, *arguments]) == 1
    message = capsys.readouterr().err
    assert message.startswith("encoderscope: ")
    assert said in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("arguments", [["--layer", "last"], ["--steps", "x"], ["--reference", "mask"]])
def test_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit, match="2"):
        main.main([*SIMILARITY, *arguments])
    assert arguments[0] in capsys.readouterr().err


def test_the_python_lines_give_the_same_numbers(found: similarity.Attribution, minilm: TextEncoder):
    names: dict = {}
    exec(export.code(ModelSpec(device="cpu"), found), names)
    np.testing.assert_allclose(names["found"].matrix, found.matrix, atol=1e-6)
    zero = similarity.attribute(minilm, 'a "cat"', B, 5, steps=8, reference="zero")
    exec(export.code(ModelSpec(device="cpu"), zero), names)
    np.testing.assert_allclose(names["found"].matrix, zero.matrix, atol=1e-6)


def test_a_report_names_the_reference_terms(found: similarity.Attribution, minilm: TextEncoder):
    facts = export.facts(minilm, found)
    assert all(f"{term:.4f}" in facts["Reference terms"] for term in found.references)
    assert "Reference terms" not in export.facts(minilm, similarity.attribute(minilm, A, B, 6))


def test_the_words_beside_the_deletion_test(found: similarity.Attribution, minilm: TextEncoder):
    deletion = similarity.leave_words_out(minilm, A, B)
    table = export.sections(found, deletion)[-1].table
    assert list(table.word) == A.split() + B.split()
    np.testing.assert_array_equal(table.change, deletion.both)


def test_the_map(found: similarity.Attribution):
    figure = similarity_heatmap(found.matrix, *found.labels, selected=(2, None))
    (drawn,) = figure.data
    np.testing.assert_allclose(drawn.z, found.matrix, atol=1e-6)
    assert drawn.zmax == -drawn.zmin == pytest.approx(np.abs(found.matrix).max())
    assert list(figure.layout.yaxis.ticktext) == list(found.labels[0])
    assert list(figure.layout.xaxis.ticktext) == list(found.labels[1])
    assert figure.layout.shapes
    with pytest.raises(ValueError, match="row_labels"):
        similarity_heatmap(found.matrix, ["one"], found.labels[1])


def test_cells_that_fill_the_width_hold_their_numbers():
    drawn = similarity_heatmap([[0.256, -0.004], [-0.041, 0.0]], ["a", "b"], ["c", "d"], square=False)
    assert [list(row) for row in drawn.data[0].text] == [["0.26", ""], ["−0.04", ""]]
    assert drawn.layout.yaxis.scaleanchor is None
    assert similarity_heatmap(np.zeros((2, 13)), ["a", "b"], list("cdefghijklmno"), square=False).data[0].text is None
