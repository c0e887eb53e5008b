"""The texts of a file: what is read, and what is named as left out."""

import io

import pandas as pd
import pytest

from encoder import EncoderError
from encoder.inputs.read import csv_rows
from encoder.search import Limits, read_texts


def parquet(**columns: list) -> bytes:
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file, index=False)
    return file.getvalue()


def test_a_text_a_line():
    read = read_texts("\ufeffone\n\n  two \r\nthrée".encode(), "a.TXT")
    assert read.texts == ("one", "two", "thrée")
    assert not read.problems


def test_broken_lines_are_named_by_number():
    read = read_texts(b"one\n\xff\xfe\nthree\n" + b"x" * 21, "a.txt", Limits(characters=20))
    assert read.texts == ("one", "three")
    assert [problem.split(":")[0] for problem in read.problems] == ["Line 2", "Line 4"]


@pytest.mark.parametrize(
    ("content", "texts", "lines"),
    [
        (b'id,text\n1,"a, b"\n2\n3,"two\nlines"\n', ("a, b", "two\nlines"), ["Line 3"]),
        (b"a,b\nc,d\n", ("a", "c"), []),
        (b"Sentence\nok\n\xff\nalso\n", ("ok", "also"), ["Line 3"]),
        (b'text\none\n"two"x\nthree\n', ("one", "three"), ["Line 3"]),
        (b'text\none\n"never closed\nthree\nfour\n', ("one",), ["Line 3"]),
        (b'text\none\n"never closed\n"a ""b"""\nfour\n', ("one", "four"), ["Line 3"]),
        (b"id;text\r\n1;one, two\r\n2;\xe9\r\n", ("one, two",), ["Line 3"]),
        ("id\ttext\n1\tth\u00e9\n".encode("utf-16"), ("th\u00e9",), []),
        (b"text\none, two\nthree\n", ("three",), ["Line 2"]),
    ],
)
def test_rows_of_a_csv_file(content: bytes, texts: tuple[str, ...], lines: list[str]):
    read = read_texts(content, "a.csv")
    assert read.texts == texts
    assert [problem.split(":")[0] for problem in read.problems] == lines


def test_labels_of_a_table_go_with_its_texts():
    given = b"text,label\none,a\n,b\ntwo,\n"
    found = read_texts(given, "texts.csv", labels=("label", "class"))
    assert (found.texts, found.labels) == (("one", "two"), ("a", ""))
    assert read_texts(b"text\none\n", "texts.csv", labels=("label",)).labels == ()


def test_an_open_quote_takes_part_of_a_file_and_names_its_lines():
    (first, why), *rows = csv_rows(['"open\n', *["x\n"] * 200_000])
    assert first == 1
    last = int(why.replace(",", "").split(" to ")[1].split()[0])
    assert 1 < last < 100_000
    assert rows[0] == (last + 1, ["x"])
    assert len(rows) == 200_001 - last


def test_rows_of_a_parquet_file():
    read = read_texts(parquet(n=[1, 2, 3], label=["x", "y", "z"], text=["one", None, "three"]), "a.parquet")
    assert read.texts == ("one", "three")
    assert [problem.split(":")[0] for problem in read.problems] == ["Row 2"]
    assert read_texts(parquet(n=[1], label=["x"]), "a.parquet").texts == ("x",)
    categories = parquet(text=pd.Categorical(["b", None, "a", "b"]))
    assert read_texts(categories, "a.parquet").texts == ("b", "a", "b")


def test_texts_beyond_the_limit_are_named():
    read = read_texts(b"a\nb\nc\nd", "a.txt", Limits(texts=2))
    assert read.texts == ("a", "b")
    assert len(read.problems) == 1
    assert read.problems[0].startswith("Line 3")


@pytest.mark.parametrize(
    ("data", "name", "match"),
    [
        (b"a", "a.docx", r"\.txt, \.csv, \.tsv, \.jsonl, \.parquet"),
        (b"abc", "a.txt", "limit"),
        (b" \n", "a.txt", "no text"),
        (b"PA", "a.parquet", "damaged"),
        (parquet(n=[1]), "a.parquet", "No column"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_sentence(data: bytes, name: str, match: str):
    limits = Limits(file_bytes=2) if data == b"abc" else None
    with pytest.raises(EncoderError, match=match):
        read_texts(data, name, limits)


def test_a_small_file_that_unpacks_to_much_is_refused():
    packed = parquet(text=["x" * 1_000] * 100)
    assert len(packed) < 10_000
    with pytest.raises(EncoderError, match="unpack"):
        read_texts(packed, "a.parquet", Limits(all_characters=50_000))
