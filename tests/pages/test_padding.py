"""A padded text on the page “Heads”: shown, hidden and exported; other pages run it without padding."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder.cli import main
from encoder.figures.numbers import three_digits
from encoder.measure.padding import padding_effect
from encoder.run import Run, Text
from pages.core.stores import cache
from pages.core.widgets import export
from pages.heads.padding import ROUNDING
from tests.pages.apps import assert_well, exported, sentences, visit, words
from tests.pages.test_export import run
from tests.pages.test_heads_page import SINK
from tests.test_report import drawn

pytestmark = pytest.mark.sample(3, "another address or input of the same page")

CAT = "The cat sat on the mat"  # 8 tokens
PADDED = {"text": CAT, "pad": "14", "layer": "1", "head": "3"}


@pytest.fixture(scope="module")
def minilm() -> encoder.TextEncoder:
    return encoder.load("minilm", device="cpu")


def address(app: AppTest) -> dict[str, str]:
    return {name: value if isinstance(value, str) else value[0] for name, value in app.query_params.items()}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[], bytes]]:
    made: dict[str, Callable[[], bytes]] = {}

    def note(label: str, data: Callable[[], bytes], file: str, mime: str) -> None:
        made[file.rsplit(".", 1)[-1]] = data

    monkeypatch.setattr(export, "_button", note)
    return made


def numbers(app: AppTest) -> list[float]:
    """The numbers of the note in bold: the largest weight to padding, and the largest difference."""
    note = next(one.value for one in app.markdown if one.value.startswith("**Padded to "))
    return [float(found) for found in re.findall(r"\*\*([\d.e+-]+)\*\*", note)]


def test_the_note_about_padding_has_its_numbers(minilm: encoder.TextEncoder):
    effect = padding_effect(minilm.trace(CAT, pad_to=14), minilm.trace(CAT))
    app = visit(**PADDED)
    assert_well(app)
    assert re.search(r"\b14\b.*\b6 × \\\[PAD\\\].*\b8\b.*\b8 to 13 \(hidden\)", words(app))
    leaked, difference = numbers(app)
    assert leaked == effect.leaked == 0
    # How a processor rounds decides the difference, which may be 0.
    assert difference <= ROUNDING["float32"] * effect.largest
    assert app.toggle(key="view:padding").value is False
    assert app.number_input(key="view:pad").value == 14
    app.toggle(key="view:padding").set_value(True).run()
    assert_well(app)
    assert "8 to 13 (shown)" in words(app)
    assert address(app) == PADDED | {"padding": "1"}
    app.number_input(key="view:pad").set_value(None).run()
    assert_well(app)
    assert "view:padding" not in [toggle.key for toggle in app.toggle]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"pad": "5"}, "9 to 512"),
        ({"pad": "8"}, "9 to 512"),
        ({"pad": "900"}, "1 to 512"),
        ({"pad": "0"}, "pad='0'"),
        ({"pad": "many"}, "pad='many'"),
        ({"text": "word " * 600, "pad": "512"}, "all 512 tokens"),
        ({"text": "word " * 600, "pad": "512", "long": "windows"}, "last window"),
    ],
)
def test_a_length_that_cannot_be_is_answered(query: dict[str, str], said: str):
    app = visit(**{"text": CAT, **query})
    assert_well(app)
    assert said in sentences(app).replace("\\", "")


def test_a_model_without_a_padding_token(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(encoder.TextEncoder, "can_pad", property(lambda _: False))
    app = visit(**PADDED)
    assert_well(app)
    assert [box for box in app.info if box.icon == ":material/rectangle:" and "padding token" in box.value]
    assert app.number_input(key="view:pad").disabled


@pytest.mark.parametrize(
    ("query", "padding"),
    [
        ({}, "0"),
        ({}, "1"),
        ({"pair": "It slept.", "model": "twin-pre"}, "1"),
        ({"model": "scratch", "positions": "rotary", "norm": "pre", "layers": "3"}, "0"),
        ({"norm": "pre", "dtype": "bfloat16"}, "0"),
        ({"text": "word " * 600, "long": "windows", "window": "1", "pad": "400"}, "1"),
        ({"text": "word " * 300, "pad": "600", "model": "scratch"}, "1"),
    ],
    ids=["hidden", "shown", "pair", "scratch", "bfloat16", "window", "long"],
)
def test_every_kind_of_model_and_text(query: dict[str, str], padding: str, files: dict[str, Callable[[], bytes]]):
    app = visit(**PADDED | query, padding=padding)
    assert_well(app)
    assert numbers(app)[0] == 0
    assert "within rounding" in words(app)
    lines = exported(app)
    assert re.search(rf"pad_to={(PADDED | query)['pad']}\)", lines)
    assert (".unpadded" in lines) == (padding == "0")
    names = run(lines)
    shown = names["view"].shown
    table = pd.read_csv(io.BytesIO(files["csv"]()), keep_default_na=False)
    assert table.iloc[:, -1].to_numpy() == pytest.approx(names["table"].iloc[:, -1].to_numpy(), abs=1e-5)
    assert len(shown.query_labels) == (int(address(app)["pad"]) if padding == "1" else names["trace"].n_real)
    if names["view"].is_exact:
        assert ("[PAD]" in set(table["key_token"])) == (padding == "1")


@pytest.mark.parametrize("kind", ["lines", "text"])
@pytest.mark.parametrize("padding", ["0", "1"])
def test_lines_and_text_follow(kind: str, padding: str, files: dict[str, Callable[[], bytes]]):
    app = visit(**PADDED, view=kind, padding=padding, words="1", i="2")
    assert_well(app)
    names = run(exported(app))
    table = pd.read_parquet(io.BytesIO(files["parquet"]()))
    pd.testing.assert_frame_equal(table, names["table"], check_dtype=False, rtol=1e-5)
    assert "padded to 14" in table.attrs["Tokens"]
    tokens = table["key_token"] if kind == "lines" else table["token"]
    assert ("[PAD]" in set(tokens)) == (padding == "1")
    html = files["html"]().decode()
    if kind == "lines":
        assert ("[PAD]" in drawn(html)[0]["keyTokens"]) == (padding == "1")
    else:
        assert "[PAD]" in html or padding == "0"


def test_measures_sinks_and_the_grid_are_those_of_the_text_alone():
    query = {"text": CAT, "measure": "entropy", "sort": "falling", "keep": "0..0.5", "layer": "2", "head": "4"}

    def measured(**padding: str) -> list[str]:
        """How many heads the filter keeps, and the shares of the note on the sink."""
        said = words(visit(**query, **padding))
        sink = next(line for line in said.splitlines() if SINK in line)
        return [*re.findall(r"\d+ of 72", said), *re.findall(r"\d+%", sink)]

    alone = measured()
    assert len(alone) == 3
    assert measured(pad="40", padding="0") == measured(pad="40", padding="1") == alone


def test_a_selected_token_of_padding_stays_selected(minilm: encoder.TextEncoder):
    app = visit(**PADDED, padding="1", i="12", j="2")
    assert_well(app)
    weight = three_digits(float(minilm.trace(CAT, pad_to=14).attention(1, 3)[12, 2]))
    assert "**\\[PAD\\]** (12)" in words(app)
    assert f"**{weight}**" in words(app)
    assert "open-softmax" not in [button.key for button in app.button]
    app.toggle(key="view:padding").set_value(False).run()
    assert_well(app)
    assert "**\\[PAD\\]** (12)" not in words(app)
    assert "clear-selection" in [button.key for button in app.button], "the token is selected, and hidden"
    assert address(app)["i"] == "12"


@pytest.mark.slow("opens every other page")
def test_other_pages_run_the_text_alone():
    app = visit(**PADDED, padding="1")
    for page in ("contribution", "norms"):
        app.switch_page(f"pages/{page}/page.py").run()
        assert_well(app)
        assert "[PAD]" not in str([element.value for element in app.get("markdown")])
        assert address(app)["pad"] == "14", "coming back, it is as it was"
        assert all("pad_to" not in block.value for block in app.get("code"))


def test_a_key_keeps_its_padding_apart():
    alone, hidden, shown = (
        Run(input=Text(CAT)),
        Run(input=Text(CAT, pad_to=14)),
        Run(input=Text(CAT, pad_to=14, padding=True)),
    )
    traces = [cache.trace(run) for run in (alone, hidden, shown)]
    assert [trace.n_tokens for trace in traces] == [8, 8, 14]
    assert traces[1] is cache.trace(hidden) is traces[2].unpadded


@pytest.mark.slow("opens a model by the command")
def test_the_command_line_writes_the_same_numbers(tmp_path, capsys, files: dict[str, Callable[[], bytes]]):
    for padding in ("0", "1"):
        visit(**PADDED, padding=padding)
        out = tmp_path / f"head{padding}.csv"
        more = ["--padding"] if padding == "1" else []
        command = ["trace", "minilm", "--text", CAT, "--layer", "1", "--head", "3", "--pad-to", "14", *more]
        assert main.main([*command, "--out", str(out)]) == 0
        page, own = (pd.read_csv(source) for source in (io.BytesIO(files["csv"]()), out))
        assert own["weight"].to_numpy() == pytest.approx(page["weight"].to_numpy(), abs=1e-6)
        assert list(own["key_token"]) == list(page["key_token"])
    for arguments, why in (
        (["--pad-to", "3"], "pad_to=3"),
        (["--pad-to", "600"], "512"),
        (["--padding"], "--pad-to N"),
    ):
        assert main.main(["trace", "minilm", "--text", CAT, *arguments]) == 1
        assert why in capsys.readouterr().err
    report = tmp_path / "head.html"
    assert (
        main.main(
            ["trace", "minilm", "--text", CAT, "--layer", "0", "--head", "0", "--pad-to", "14", "--out", str(report)]
        )
        == 0
    )
    assert "8, padded to 14" in report.read_text(encoding="utf-8")
