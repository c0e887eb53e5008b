"""Texts of a file: every format, with labels; broken rows are named by number and do not end the reading."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from encoder import EncoderError, corpus
from encoder.corpus.rows import Source
from encoder.inputs.read import BrokenRow, Row
from encoder.probe import examples


def read(path: Path, **columns) -> tuple[list[Row], list[int]]:
    """The texts, and the numbers of the broken rows."""
    rows = list(Source(str(path), **columns).rows())
    texts = [row for row in rows if isinstance(row, Row) and row.text]
    return texts, [row.number for row in rows if isinstance(row, BrokenRow)]


def test_lines_of_a_text_file(tmp_path: Path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\n\n  two \nbad \xff\nlast")
    rows, broken = read(path)
    assert rows == [Row(1, "one"), Row(3, "two"), Row(5, "last")]
    assert broken == [4]


def test_rows_of_a_csv_file_with_labels(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_bytes(b'id,stars,review\n1,5,"good, really"\n2,,bad\n3\n4,1,\xff\n5,2,"a\nb"\n6,3,"open')
    rows, broken = read(path, text="review", labels=("stars", "id"))
    assert rows == [Row(2, "good, really", ("5", "1")), Row(3, "bad", (None, "2")), Row(6, "a\nb", ("2", "5"))]
    assert broken == [4, 5, 8], "a row with a line break has two lines"
    path.write_text("just a text,1\nanother,2\n", encoding="utf-8")
    assert [row.text for row in read(path)[0]] == ["just a text", "another"]


def test_objects_of_a_jsonl_file(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"text": "one", "n": 3}\n"two"\n[1]\n{"n": 1}\nnot json\n\n{"text": "x", "n": null}\n"\\ud83d"', "utf-8"
    )
    rows, broken = read(path)
    assert [(row.number, row.text) for row in rows] == [(1, "one"), (2, "two"), (7, "x")]
    assert broken == [3, 4, 5, 8]
    assert [row.labels for row in read(path, labels=("n",))[0]] == [("3",), (None,)]


def test_rows_of_a_parquet_file(tmp_path: Path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"n": [1, 2, 3], "words": ["one", None, "three"]}).to_parquet(path)
    assert read(path, labels=("n",)) == ([Row(1, "one", ("1",)), Row(3, "three", ("3",))], [2])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(EncoderError, match="damaged"):
        read(path)


def test_the_bundled_sentences_need_no_file():
    rows = list(Source("wordnet").rows())
    assert [row.text for row in rows if isinstance(row, Row)] == [text.strip() for text in examples()]
    labelled = Source("wordnet", labels=(corpus.POS,))
    assert {label for row in labelled.rows() for label in row.labels} == {"noun", "verb", "adjective", "adverb"}
    assert labelled.about() != Source("wordnet").about()


@pytest.mark.parametrize(
    ("name", "content", "columns", "says"),
    [
        ("missing.txt", None, {}, "No file"),
        ("a.docx", "x", {}, "format"),
        ("a.txt", "x", {"labels": ("y",)}, "columns"),
        ("a.csv", "text\nx", {"labels": ("y",)}, "No column 'y'"),
        ("a.csv", "x\ny", {"text": "z"}, "No column 'z'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, name, content, columns, says):
    if content is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(EncoderError, match=says):
        list(Source(str(tmp_path / name), **columns).rows())


def test_the_bundled_sentences_have_no_other_column():
    for columns in ({"labels": ("stars",)}, {"text": "text"}):
        with pytest.raises(EncoderError, match=corpus.POS):
            list(Source("wordnet", **columns).rows())


def test_the_first_texts_alone_are_read_on_request(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("one\n\ntwo\nthree\n", encoding="utf-8")
    assert [row.text for row in Source(str(path), most=2).rows()] == ["one", "", "two"]
    assert Source(str(path), most=2).about() != Source(str(path)).about()
