"""Exports: tables, standalone pages, Python lines; and `encoderscope trace`, which writes the same files."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
import torch

import encoder
from encoder import export
from encoder.cli import main
from encoder.documents.document import Section, document
from encoder.drawing import still
from encoder.drawing.picture import attention_lines
from encoder.export import report
from encoder.maps.aggregate import dense_map
from encoder.run import UNTRAINED, ModelSpec, Run, Text, Untrained, code
from tests.conftest import ROOT
from tests.test_components import unpack

HOSTILE = "</script><img src=x onerror=\"alert('no')\"> a&b \u2028 \x00 <!-- "
LONG = "the cat sat on the mat and looked at the dog " * 40


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


class Page(html.parser.HTMLParser):
    """The elements of a page as a browser would see them: (tag, attributes), and the text in each script and title."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self._open = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        self.inside.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.inside[self._open][-1] += data

    def tags(self) -> set[str]:
        return {tag for tag, _ in self.elements}

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def numbers(array: dict) -> np.ndarray:
    """An array of a figure's JSON as Plotly writes it: base64 with dtype and shape."""
    shape = [int(size) for size in array["shape"].split(",")]
    return np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).reshape(shape)


def drawn(source: str) -> tuple[dict, dict[str, np.ndarray]]:
    """What a report's script knows of its only picture. No other script may run than the one that draws it."""
    page = Page(source)
    (program,) = page.inside["script"]
    assert base64.b64encode(hashlib.sha256(program.encode()).digest()).decode() in source
    assert "plotly.js v" not in program
    (block,) = [attributes["data-block"] for attributes in page.attributes("div") if "data-block" in attributes]
    return unpack(base64.b64decode(block or ""))


# --- the page of HTML ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [HOSTILE, "The cat sat", "", "א <b>ב</b>"])
def test_a_report_holds_the_numbers_and_escapes_the_text(minilm: encoder.TextEncoder, text: str):
    trace = minilm.trace(text)
    source = report.page(minilm, ModelSpec(), export.map(trace, 2, 3, queries=[1], keys=[0]))
    page = Page(source)
    assert not page.tags() & {"img", "iframe", "object", "b"}, "an element that only the text can have brought in"
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert page.inside["title"] == ["L2 H3 of all-MiniLM-L6-v2"]
    if text.strip():
        assert page.inside["blockquote"][0].replace("␀", "\x00") == text
    figure = json.loads(next(body for body in page.inside["script"] if body.startswith('{"data"')))
    shown = numbers(figure["data"][0]["z"])
    assert shown == pytest.approx(trace.attention(2, 3).numpy(), abs=1e-6)
    assert f"{float(trace.attention(2, 3).max()):.3f}" in source


def test_only_the_pages_own_scripts_may_run_and_nothing_is_fetched(minilm: encoder.TextEncoder):
    page = Page(report.page(minilm, ModelSpec(), export.map(minilm.trace(HOSTILE), 0, 2)))
    policy = next(meta["content"] for meta in page.attributes("meta") if meta.get("http-equiv"))
    programs = [
        body
        for body, attributes in zip(page.inside["script"], page.attributes("script"), strict=True)
        if attributes.get("type") != "application/json"
    ]
    assert len(programs) == 2, "plotly.js once, and what draws the figures"
    for program in programs:
        assert base64.b64encode(hashlib.sha256(program.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]
    addresses = [
        value for _, attributes in page.elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert addresses
    assert all(address.startswith("data:") for address in addresses)


@pytest.mark.parametrize(("n_tokens", "whole"), [(9, False), (300, True)])
def test_the_pictures_script_knows_every_weight(minilm: encoder.TextEncoder, n_tokens: int, whole: bool):
    trace = minilm.trace("the cat " * (n_tokens // 2))
    seen = export.lines(trace, [(2, 3), (0, 2)], threshold=0.3)
    data, arrays = drawn(report.page(minilm, ModelSpec(), seen))
    assert arrays["weights"].dtype == (np.uint16 if whole else np.float32), "16-bit numbers only where there are many"
    both = torch.stack([trace.attention(2, 3), trace.attention(0, 2)]).numpy()
    assert arrays["weights"] / (65535 if whole else 1) == pytest.approx(both, abs=1e-5 if whole else 0)
    assert [data["names"][0][place] for place in ("1", "2")] == ["the (1)", "cat (2)"]
    assert data["threshold"] == 0.3


def test_a_script_is_not_ended_by_what_was_typed():
    names = ["</script><b>", "<!--", "\ud800", "שלום"]
    picture = attention_lines(np.eye(4), names, alt=names[0])
    source = document("t", [Section("s", picture=picture)])
    assert drawn(source)[0]["tokens"] == names
    assert "b" not in Page(source).tags()


def test_a_page_without_figures_carries_no_script():
    page = Page(document("t", [Section("s", sentences=["a < b"], table=pd.DataFrame({"x": [1.5, np.nan]}))]))
    assert "script" not in page.tags()
    assert "1.500" in page.inside["td"]


def test_two_figures_share_one_script():
    sections = [Section(name, figure=go.Figure(go.Scatter(x=[0, 1], y=[1, 2]))) for name in "ab"]
    source = document("t", sections, link="http://localhost:8501/?text=a&layer=2")
    page = Page(source)
    assert [div["data-source"] for div in page.attributes("div")] == ["figure-0", "figure-1"]
    assert len([body for body in page.inside["script"] if "plotly.js v" in body[:200]]) == 1
    assert page.attributes("a")[0]["href"] == "http://localhost:8501/?text=a&layer=2"


def test_a_figure_that_the_script_cannot_draw_is_refused():
    with pytest.raises(ValueError, match="not pie"):
        document("t", [Section("s", figure=go.Figure(go.Pie(values=[1, 2])))])


def test_a_long_table_is_cut_and_says_so():
    source = document("t", [Section("s", table=pd.DataFrame({"x": range(1_234)}))])
    assert source.count("<tr>") == 201
    assert "200 of 1,234" in source


def test_what_the_model_left_out_and_what_was_moved_is_said(minilm: encoder.TextEncoder):
    trace = minilm.with_norm_placement("pre").trace("word " * 600)
    said = report.facts(minilm.with_norm_placement("pre"), trace, special_tokens="shown")
    assert re.findall(r"\d+", said["Tokens"]) == ["512", "602", "512"]
    assert "first" in said["Tokens"]
    assert "without retraining" in said["Note"]
    assert said["Special tokens"] == "shown"


def test_the_grid_has_a_picture_for_each_head_and_frames_one():
    picture = still.grid("", np.zeros((2, 3, 4, 4), np.uint8), selected=(1, 2), alt='"<').svg()
    assert picture.count("<image ") == 1
    assert picture.count("<rect ") == 1
    assert 'aria-label="&quot;&lt;"' in picture
    assert re.findall(r">([LH]\d)<", picture) == ["L0", "L1", "H0", "H1", "H2"]
    with pytest.raises(ValueError, match=r"float64 \[2, 2\]"):
        still.grid("", np.zeros((2, 2)))


# --- the numbers -----------------------------------------------------------------------------------------------------


def test_csv_and_parquet_hold_the_weights(minilm: encoder.TextEncoder):
    trace = minilm.trace('a "quoted", word', "und Käse")
    frame = export.map(trace, 1, 8).frame()
    weights = trace.attention(1, 8).numpy()
    told = {"Model": "MiniLM", "Text": "Käse"}
    for again in (
        pd.read_csv(io.BytesIO(report.as_csv(frame)), keep_default_na=False),
        pd.read_parquet(io.BytesIO(report.as_parquet(frame, told))),
    ):
        assert list(again.columns) == ["layer", "head", "query", "query_token", "key", "key_token", "weight"]
        assert again["weight"].to_numpy().reshape(weights.shape) == pytest.approx(weights, abs=1e-7)
        assert tuple(again["key_token"][: trace.n_tokens]) == trace.labels
        assert set(again["layer"]) == {1}
    assert pd.read_parquet(io.BytesIO(report.as_parquet(frame, told))).attrs == told
    assert not frame.attrs, "the caller's table is left as it is"


def test_no_text_of_a_table_is_a_formula_for_a_spreadsheet():
    frame = pd.DataFrame({"@name": ["=1+1", "+1", "-x", "@a", "\tb", "\rc", "a=b", "", "b"], "number": [-1.5] * 9})
    lines = report.as_csv(frame).decode("utf-8-sig").split("\n")
    assert lines[0] == "'@name,number"
    assert [one.strip('"')[:2] for one in lines[1:7]] == ["'=", "'+", "'-", "'@", "'\t", "'\r"]
    assert lines[7:9] == ["a=b,-1.5", ",-1.5"]
    assert frame["@name"][0] == "=1+1"


def test_a_long_texts_map_is_exported_in_blocks(minilm: encoder.TextEncoder):
    trace = minilm.trace(LONG)
    frame = export.map(trace, 0, 2).frame()
    block = -(-trace.n_tokens // 256)
    assert block > 1
    assert frame["largest_weight"].to_numpy() == pytest.approx(trace.pooled_attention(0, 2).numpy().ravel(), abs=1e-6)
    first, last = frame.iloc[0], frame.iloc[-1]
    assert (first.query_first, first.query_last) == (0, block - 1)
    assert (last.key_last, last.query_last) == (trace.n_tokens - 1, trace.n_tokens - 1)


# --- the map with its options ----------------------------------------------------------------------------------------


def test_a_map_of_words_keeps_the_positions_of_their_tokens(minilm: encoder.TextEncoder):
    trace = minilm.trace("The tokenizers split unbelievable words.", "It works.")
    options = export.Options(words=True, pairs="a-b", scale_to_max=True, log=True)
    view = export.map(trace, None, 3, queries=[3], options=options)
    weights = dense_map(trace, None, 3, words=True, pairs="a-b").weights.numpy()
    table = view.frame()
    assert table["weight"].to_numpy() == pytest.approx(weights.ravel(), abs=1e-7)
    assert set(table["layer"]) == {"mean"}
    assert table["key"].min() > table["query"].max(), "sentence B comes after sentence A"
    heatmap = view.figure().data[0]
    assert heatmap.zmax == pytest.approx(weights.max())
    assert {"Between the sentences", "Whole words", "Colours"} <= set(view.facts())
    names = {"trace": trace}
    exec(view.code(), names)
    pd.testing.assert_frame_equal(names["table"], table)


def test_a_map_of_a_long_text_refuses_words(minilm: encoder.TextEncoder):
    config = SCRATCH.config
    trace = encoder.build(config, minilm.tokenizer, seed=1).trace("a b c " * 250)
    with pytest.raises(encoder.EncoderError, match="512"):
        export.map(trace, 0, 0, options=export.Options(words=True))
    view = export.map(trace, 0, 1)
    assert view.cells[1] > 1
    assert view.frame()["largest_weight"].max() == pytest.approx(view.strongest()["weight"].max())


def test_what_a_causal_mask_hides_is_not_among_the_strongest_weights(minilm: encoder.TextEncoder):
    causal = encoder.EncoderConfig(vocab_size=30_522, d_model=24, n_layers=1, n_heads=2, d_ffn=40, causal=True)
    trace = encoder.build(causal, minilm.tokenizer, seed=1).trace("a b")
    for view in (export.map(trace, 0, 0), export.lines(trace, [(0, 0)])):
        assert sorted(view.strongest()["weight"])[0] > 0
        assert len(view.strongest()) == 4 * 5 // 2  # [CLS] a b [SEP]: each attends to itself and to what is before it


# --- the Python lines ------------------------------------------------------------------------------------------------

SCRATCH = ModelSpec(
    UNTRAINED, untrained=Untrained(layers=3, heads=2, width=24, ffn=40, positions="rotary", seed=7), norm="pre"
)


@pytest.mark.sample(4, "opens another model by the lines of a report")
@pytest.mark.parametrize("special", ["show", "renormalise"])
@pytest.mark.parametrize(
    ("spec", "text", "pair"),
    [
        (ModelSpec(), "The cat sat", None),
        (ModelSpec(device="cpu"), HOSTILE, 'He said "no" \\ twice\n'),
        (ModelSpec(norm="pre"), "a a a", "b"),
        (ModelSpec("twin-post"), "A dog", None),
        (SCRATCH, "one two", None),
        (replace(SCRATCH, device="cpu", dtype="bfloat16"), "one two", None),
        (ModelSpec(device="cpu"), LONG, None),
    ],
    ids=["minilm", "hostile", "rewired", "twin", "scratch", "scratch in bfloat16", "long"],
)
def test_the_python_lines_give_the_same_numbers(spec: ModelSpec, text: str, pair: str | None, special: str):
    if spec.untrained is not None:
        model = encoder.build(spec.config, encoder.load("minilm").tokenizer, seed=7, dtype=spec.dtype)
    else:
        model = encoder.load(spec.source)
        model = model if spec.norm == "trained" else model.with_norm_placement(spec.norm)
    trace = model.trace(text, pair)
    view = export.map(trace, 2, 1, options=export.Options(special=special))
    lines = code.python_lines(Run(spec, Text(text, pair)), view.code())
    assert lines.splitlines()[0] == "import encoder"
    assert lines.count("\n") <= 7
    names: dict = {}
    exec(lines, names)
    again, shown = names["table"], view.frame()
    assert list(again.columns) == list(shown.columns)
    assert again.iloc[:, -1].to_numpy() == pytest.approx(shown.iloc[:, -1].to_numpy(), abs=1e-6)
    assert isinstance(names["view"].figure(), go.Figure)


def test_a_config_is_described_by_its_own_choices_alone():
    assert code.config_fields(SCRATCH.config) == {
        "vocab_size": 30_522,
        "d_model": 24,
        "n_layers": 3,
        "n_heads": 2,
        "d_ffn": 40,
        "max_positions": 8_192,
        "norm_placement": "pre",
        "position": "rotary",
        "relative_max_distance": 32,
    }
    assert encoder.EncoderConfig(**code.config_fields(SCRATCH.config)) == SCRATCH.config


# --- encoderscope trace ----------------------------------------------------------------------------------------------


def test_trace_writes_a_report(tmp_path: Path, capsys: pytest.CaptureFixture, minilm: encoder.TextEncoder):
    out = tmp_path / "head.html"
    command = ["trace", "minilm", "--text", HOSTILE.replace("\x00", ""), "--layer", "2", "--head", "3"]
    assert main.main([*command, "--out", str(out)]) == 0
    assert f"{out}: L2 H3 of all-MiniLM-L6-v2" in capsys.readouterr().out
    page = Page(out.read_text(encoding="utf-8"))
    assert "img" not in page.tags()
    names: dict = {}
    exec(page.inside["code"][0], names)
    assert names["table"]["weight"].to_numpy() == pytest.approx(
        minilm.trace(HOSTILE.replace("\x00", "")).attention(2, 3).numpy().ravel(), abs=0
    )
    assert [path.name for path in tmp_path.iterdir()] == ["head.html"]


def test_trace_writes_tables(tmp_path: Path, minilm: encoder.TextEncoder):
    arguments = ["trace", "minilm", "--text", "The cat", "--pair", "sat", "--layer", "4", "--head", "11"]
    arguments += ["--norm", "pre"]
    for name, read in (("a.csv", pd.read_csv), ("a.PARQUET", pd.read_parquet)):
        assert main.main([*arguments, "--out", str(tmp_path / name)]) == 0
        weights = minilm.with_norm_placement("pre").trace("The cat", "sat").attention(4, 11).numpy().ravel()
        assert read(tmp_path / name)["weight"].to_numpy() == pytest.approx(weights, abs=1e-6)
    told = pd.read_parquet(tmp_path / "a.PARQUET").attrs
    assert told["Text"] == "The cat\nsat"
    assert "pre-norm" in told["Model"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--view", "lines", "--overlay", "1.8", "--minimum-weight", "0.2"], ["L2 H3 + L1 H8", "are 0.2 or more"]),
        (["--view", "lines", "--select", "2,3"], ["are strong, the others faint", "sum of their weights"]),
        (["--view", "text", "--select", "1"], ["stronger a token", "what the selected tokens attend to"]),
        (["--view", "text", "--direction", "from", "--special", "zero"], ["a token receives"]),
    ],
)
def test_trace_writes_the_other_views(arguments: list[str], said: list[str], tmp_path: Path):
    typed = HOSTILE.replace("\x00", "")
    command = ["trace", "minilm", "--text", typed, "--layer", "2", "--head", "3", *arguments]
    for name in ("a.html", "a.csv", "a.parquet"):
        assert main.main([*command, "--out", str(tmp_path / name)]) == 0
    source = (tmp_path / "a.html").read_text(encoding="utf-8")
    page = Page(source)
    assert not page.tags() & {"img", "iframe"}
    assert drawn(source)[0]["labels"]
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert all(word in source for word in said)
    names: dict = {}
    exec(page.inside["code"][0], names)
    for again in (pd.read_csv(tmp_path / "a.csv"), pd.read_parquet(tmp_path / "a.parquet")):
        assert again["weight"].to_numpy() == pytest.approx(names["table"]["weight"].to_numpy(), abs=1e-6)
    assert names["view"].picture().element() in source


def test_trace_prints_the_other_views(capsys: pytest.CaptureFixture):
    sat = ["trace", "minilm", "--text", "The cat sat", "--layer", "0", "--head", "2", "--select", "2"]
    assert main.main([*sat, "--view", "lines", "--overlay", "1.8"]) == 0
    assert capsys.readouterr().out.split()[:3] == ["layer", "head", "query"]
    assert main.main([*sat, "--view", "text"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[1] == "the"  # L0 H2 attends to the token before


def test_trace_prints_without_a_file(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("The cat sat\n"))
    assert main.main(["trace", "minilm", "-", "--layer", "0", "--head", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["query", "from", "key", "to", "weight"]
    assert lines[1].split()[1] in {"the", "cat", "sat", "[SEP]", "[CLS]"}
    weights = [float(line.split()[-1]) for line in lines[1:]]
    assert weights == sorted(weights, reverse=True)


#: Twelve heads to lay over another one.
MANY = ",".join(f"{n % 6}.{n // 6 + 1}" for n in range(12))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "x.gif"], ".html, .png"),
        (["--out", "x"], ".html"),
        (["--out", "nowhere/x.csv"], "nowhere"),
        (["--layer", "6", "--out", "x.csv"], "0 to 5"),
        (["--layer", "-7"], "-7"),
        (["--head", "12"], "12"),
        (["--layer", "0", "--head", "0", "--view", "lines", "--overlay", "0.12"], "12"),
        (["--view", "lines", "--select", "1,9"], "0 to 3"),
        (["--overlay", "0.1"], "--view lines"),
        (["--view", "text", "--minimum-weight", "0.1"], "--minimum-weight"),
        (["--layer", "0", "--head", "0", "--view", "lines", "--overlay", MANY], "1 to 12"),
    ],
)
def test_trace_refuses_in_a_sentence(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert main.main(["trace", "minilm", "--text", "A cat", *arguments]) == 1
    message = capsys.readouterr().err
    assert message.startswith("encoderscope: ")
    assert said in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--select", "1;2"], "whole numbers with commas"),
        (["--overlay", "3"], "layer.head with commas"),
        (["--minimum-weight", "1.5"], "from 0 to 1"),
        (["--view", "tree"], "invalid choice"),
    ],
)
def test_trace_says_how_options_are_written(arguments: list[str], said: str, capsys: pytest.CaptureFixture):
    with pytest.raises(SystemExit, match="2"):
        main.main(["trace", "minilm", "--text", "A cat", *arguments])
    assert said in capsys.readouterr().err


def test_a_place_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch):
    reason = "No space left on device"

    def full(*_: object) -> None:
        raise OSError(28, reason)

    monkeypatch.setattr("os.replace", full)
    assert main.main(["trace", "minilm", "--text", "A cat", "--out", str(tmp_path / "x.csv")]) == 1
    assert re.search(rf"x\.csv\b.*{reason}\b.*\bplace\b", capsys.readouterr().err)
    assert not list(tmp_path.iterdir()), "no half of a file stays behind"


@pytest.mark.slow("starts the command in another process")
def test_trace_starts_no_server_and_loads_no_streamlit(tmp_path: Path):
    program = (
        "import sys; from encoder.cli.main import main; code = main(sys.argv[1:]); "
        "assert not {'streamlit', 'transformers'} & set(sys.modules); sys.exit(code)"
    )
    command = [sys.executable, "-c", program, "trace", "minilm", "--text", "A cat", "--layer", "0", "--head", "0"]
    command += ["--out", str(tmp_path / "x.html")]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert (tmp_path / "x.html").stat().st_size > 1_000_000
