"""The one reader of rows: the same texts from every format and from memory, and no file that takes the machine."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from encoder import EncoderError, corpus, probe, search
from encoder.inputs import read as reading
from encoder.inputs.read import BrokenRow, Limits, Row

TEXTS = ["one, two", "thrée", "“four”"]
LABELS = ["a", None, "b"]


def packed(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


FILES = {
    "a.csv": 'text,n\n"one, two",a\nthrée,\n“four”,b\n'.encode(),
    "semicolons.csv": "n;text\na;one, two\n;thrée\nb;“four”\n".encode("utf-8-sig"),
    "a.tsv": "text\tn\none, two\ta\nthrée\t\n“four”\tb\n".encode("utf-16"),
    "a.jsonl": '{"text": "one, two", "n": "a"}\r\n{"text": "thrée"}\r\n{"n": "b", "text": "“four”"}\r\n'.encode(
        "utf-32"
    ),
    "a.parquet": packed(pa.table({"n": LABELS, "text": TEXTS})),
}
TABLES = {
    "frame": pd.DataFrame({"number": [1, 2, 3], "n": LABELS, "text": TEXTS}),
    "tuples": list(zip(TEXTS, LABELS, strict=True)),
    "mappings": [{"text": text, "n": label} for text, label in zip(TEXTS, LABELS, strict=True)],
}


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_texts_and_labels(tmp_path: Path, name: str):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    with open(path, "rb") as opened:
        for given in (path, str(path), FILES[name], opened):
            found = list(reading.read(given, name if isinstance(given, bytes) else "", labels=("n",)))
            assert [(row.text, *row.labels) for row in found] == list(zip(TEXTS, LABELS, strict=True))
    assert search.read_texts(str(path)).texts == tuple(TEXTS), "a string is a path"
    assert [row.text for row in corpus.Source(path).rows()] == TEXTS


def test_each_text_has_a_label_also_where_a_line_has_none(tmp_path: Path):
    lines = [{"text": "a", "label": "x"}, {"text": "b"}, {"text": "c", "label": "y"}]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    found = reading.read_texts(path, labels=("label",))
    assert (found.texts, found.labels) == (("a", "b", "c"), ("x", "", "y"))
    path.write_text("\n".join(json.dumps({"text": one}) for one in "ab"), encoding="utf-8")
    assert reading.read_texts(path, labels=("label",)).labels == ()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_memory_is_read_as_a_file_is(name: str):
    found = list(reading.read(TABLES[name], labels=("n",)))
    assert [(row.number, row.text, *row.labels) for row in found] == [
        (number, text, label) for number, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True), 1)
    ]
    assert search.read_texts(TABLES[name]).texts == tuple(TEXTS)


def test_a_task_is_read_from_every_format(tmp_path: Path):
    given = [(f"{n} {word} film", word) for n in range(5) for word in ("good", "bad")]
    frame = pd.DataFrame(given, columns=["Sentence", "Class"])
    frame.to_parquet(tmp_path / "a.parquet")
    frame.rename(columns=str.lower).to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    for source in (given, frame, tmp_path / "a.parquet", str(tmp_path / "a.jsonl")):
        task = probe.read_task(source).task
        assert list(zip(task.texts, task.labels, strict=True)) == given


def test_bytes_need_a_name_and_other_things_are_named():
    with pytest.raises(EncoderError, match=r"known format: choose a file that ends in \.txt"):
        search.read_texts(b"one\ntwo")
    with pytest.raises(EncoderError, match=r"No file texts\.csv"):
        search.read_texts("texts.csv")
    with pytest.raises(EncoderError, match="int cannot be read"):
        search.read_texts(3)
    with pytest.raises(EncoderError, match="No column 'label or class"):
        probe.read_task(pd.DataFrame({"text": ["one"]}))


def test_half_characters_and_what_is_no_text_are_left_out():
    found = search.read_texts(["one", "\ud83d", 3, None, "two", " "])
    assert (found.texts, found.n_blank) == (("one", "two"), 1)
    assert [problem[:5] for problem in found.problems] == ["Row 2", "Row 3", "Row 4"]
    broken = "one\ntwo\n".encode("utf-16") + b"\x00\xd8\x0a\x00" + "three".encode("utf-16-le") + b"x"
    assert search.read_texts(broken, "a.txt").texts == ("one", "two"), "half a pair, half a character"
    assert search.read_texts(broken, "a.txt").n_left_out == 2


def test_of_two_columns_of_one_name_the_first_is_read():
    table = pa.table([pa.array(["one"]), pa.array(["two"])], names=["text", "text"])
    frame = pd.DataFrame([["one", "two"]], columns=["text", "text"])
    for given, name in ((b"text,text\none,two\n", "a.csv"), (packed(table), "a.parquet"), (frame, "")):
        assert search.read_texts(given, name).texts == ("one",)


def test_problems_are_counted_and_the_first_are_named():
    found = search.read_texts([None] * 1_500 + ["one"])
    assert (len(found.problems), found.n_left_out) == (1_000, 1_500)


def test_a_row_that_a_separator_cuts_is_left_out():
    data = b"id,review\n1,good\n2,good, bad\n"
    found = list(reading.read(data, "a.csv", text="review"))
    assert found[0] == Row(2, "good")
    assert isinstance(found[1], BrokenRow)
    assert "quotes" in found[1].why


def test_a_line_without_an_end_takes_little_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "MOST_LINE", 1_000)
    for name in ("a.txt", "a.csv", "a.jsonl"):
        found = list(
            reading.read(
                b"one\n" + b"x" * 5_500 + b"\ntwo" if name != "a.jsonl" else b'"one"\n' + b"x" * 5_500 + b'\n"two"',
                name,
            )
        )
        assert [row.text for row in found if isinstance(row, Row)] == ["one", "two"], name
        assert [row.number for row in found if isinstance(row, BrokenRow)] == [2]


def dictionary() -> bytes:
    """One value of 16 million characters that 2,000 rows name: 32 GB as texts."""
    named = pa.DictionaryArray.from_arrays(pa.array([0] * 2_000, pa.int32()), pa.array(["x" * 16_000_000]))
    return packed(pa.table({"text": named}))


def plain() -> bytes:
    """Twelve such values, each in a row group of its own."""
    file = io.BytesIO()
    table = pa.table({"text": [f"{n}" + "x" * 16_000_000 for n in range(12)]})
    pq.write_table(table, file, compression="zstd", use_dictionary=False, row_group_size=1)
    return file.getvalue()


@pytest.mark.parametrize("made", [dictionary, plain])
def test_a_small_parquet_file_takes_little_memory(made: Callable[[], bytes]):
    data = made()
    assert len(data) < 50_000
    before = pa.default_memory_pool().max_memory()
    tracemalloc.start()
    try:
        with pytest.raises(
            EncoderError, match=r"holds no text. Row 1: 16,000,00\d characters, and the limit is 20,000"
        ):
            search.read_texts(data, "a.parquet")
        found = list(reading.read(data, "a.parquet", limits=corpus.rows.LIMITS))
        assert all(isinstance(row, BrokenRow) and "the limit is 1,000,000" in row.why for row in found)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()
    assert pa.default_memory_pool().max_memory() - before < 300_000_000


def test_a_parquet_column_that_is_packed_to_nothing_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "MOST_UNPACKED", 1_000_000)
    file = io.BytesIO()
    text = pa.array([f"{n}" + "x" * 100_000 for n in range(20)])
    pq.write_table(pa.table({"text": text}), file, compression="zstd", use_dictionary=False)
    with pytest.raises(EncoderError, match="unpack"):
        list(reading.read(file.getvalue(), "a.parquet", limits=Limits(all_characters=None, characters=10**9)))


def test_nested_columns_beside_the_text_do_no_harm():
    table = pa.table({"meta": [{"a": 1, "b": 2}], "tags": [["x", "y"]], "text": ["one"]})
    assert search.read_texts(packed(table), "a.parquet").texts == ("one",)
    assert [row.labels for row in reading.read(packed(table), "a.parquet", labels=("tags",))] == [("['x', 'y']",)]
