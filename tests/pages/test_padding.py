"""The Heads page with a text as in a batch: what is said, shown, hidden and taken away; other pages run it alone."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import encoder
from encoder import cli
from encoder.figures.numbers import three_digits
from encoder.measure.padding import padding_effect
from pages.core import cache, export
from tests.pages.apps import assert_well, sentences, visit
from tests.pages.test_export import run
from tests.pages.test_heads_page import words

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

    def note(label: str, data: Callable[[], bytes], file: str, mime: str, key: str) -> None:
        made[file.rsplit(".", 1)[-1]] = data

    monkeypatch.setattr(export, "_button", note)
    return made


def test_what_is_seen_is_said_with_its_numbers(minilm: encoder.TextEncoder):
    effect = padding_effect(minilm.trace(CAT, pad_to=14), minilm.trace(CAT))
    off = max(abs(1 - total) for total in effect.row_sums)
    app = visit(**PADDED)
    assert_well(app)
    said = words(app)
    assert "**As in a batch of 14 tokens.** 6 × \\[PAD\\] stand behind this text’s 8" in said
    assert "rows and columns 8 to 13, which are hidden." in said
    assert "No real token attends to padding: the largest weight on it in all 72 heads is **0**." in said
    assert f"none is off by more than {off:.1e}" in said
    assert f"by more than **{effect.difference:.1e}**, which is rounding" in said
    assert app.toggle(key="view:padding").value is False
    assert app.number_input(key="view:pad").value == 14
    app.toggle(key="view:padding").set_value(True).run()
    assert_well(app)
    assert "rows and columns 8 to 13 of the map." in words(app)
    assert address(app) == PADDED | {"padding": "1"}
    app.number_input(key="view:pad").set_value(None).run()
    assert_well(app)
    assert "As in a batch" not in words(app)
    assert "view:padding" not in [toggle.key for toggle in app.toggle]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"pad": "5"}, "This text is 8 tokens, too long for a batch of 5. Nothing is padded. Choose 9 to 512 tokens"),
        ({"pad": "8"}, "In a batch of 8 tokens this text is itself the longest. Nothing is padded. Choose 9 to 512"),
        ({"pad": "900"}, "pad=900: all-MiniLM-L6-v2 takes batches of 1 to 512. Shown: 512."),
        ({"pad": "0"}, "The link asks for pad='0': it must be 1 or more. Shown: none."),
        ({"pad": "many"}, "The link asks for pad='many': a whole number is needed. Shown: none."),
        ({"text": "word " * 600, "pad": "512"}, "This text fills all 512 tokens that all-MiniLM-L6-v2 takes, so there"),
        (
            {"text": "word " * 600, "pad": "512", "long": "windows"},
            "Take a shorter text, or the last window, which may be shorter.",
        ),
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
    assert "The vocabulary of all-MiniLM-L6-v2 has no padding token, so its texts cannot be padded." in sentences(
        app
    ).replace("\\", "")
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
    assert "which is rounding" in words(app)
    lines = app.get("code")[-1].value
    assert re.search(rf"pad_to={(PADDED | query)['pad']}\)", lines)
    assert (".unpadded" in lines) == (padding == "0")
    names = run(lines)
    n_real = names["trace"].n_real
    table = pd.read_csv(io.BytesIO(files["csv"]()), keep_default_na=False)
    assert table.iloc[:, -1].to_numpy() == pytest.approx(names["table"].iloc[:, -1].to_numpy(), abs=1e-5)
    if "query" in table:
        assert table["query"].nunique() == (int(address(app)["pad"]) if padding == "1" else n_real)
        assert ("[PAD]" in set(table["key_token"])) == (padding == "1")


@pytest.mark.parametrize("kind", ["lines", "text"])
@pytest.mark.parametrize("padding", ["0", "1"])
def test_lines_and_text_follow(kind: str, padding: str, files: dict[str, Callable[[], bytes]]):
    app = visit(**PADDED, view=kind, padding=padding, words="1", i="2")
    assert_well(app)
    names = run(app.get("code")[-1].value)
    table = pd.read_parquet(io.BytesIO(files["parquet"]()))
    pd.testing.assert_frame_equal(table, names["table"], check_dtype=False, rtol=1e-5)
    assert "padded to 14 as in a batch" in table.attrs["Tokens"]
    tokens = table["key_token"] if kind == "lines" else table["token"]
    assert ("[PAD]" in set(tokens)) == (padding == "1")
    assert "[PAD]" in files["html"]().decode() or padding == "0"


def test_measures_sinks_and_the_grid_are_those_of_the_text_alone():
    query = {"text": CAT, "measure": "entropy", "sort": "falling", "keep": "0..0.5", "layer": "2", "head": "4"}
    alone = [line for line in words(visit(**query)).splitlines() if "heads are kept" in line or "A sink" in line]
    assert len(alone) == 2
    for padding in ("0", "1"):
        said = words(visit(**query, pad="40", padding=padding))
        assert [line for line in alone if line.split(". Click")[0].split(" The small")[0] not in said] == []


def test_a_selected_token_of_padding_stays_selected(minilm: encoder.TextEncoder):
    app = visit(**PADDED, padding="1", i="12", j="2")
    assert_well(app)
    weight = three_digits(float(minilm.trace(CAT, pad_to=14).attention(1, 3)[12, 2]))
    assert f"**\\[PAD\\]** (12) attends to **cat** with **{weight}**." in words(app)
    assert "How this weight is made" not in [button.label for button in app.button]
    app.toggle(key="view:padding").set_value(False).run()
    assert_well(app)
    assert "What is selected is not among the rows and columns that the options show here." in words(app)
    assert address(app)["i"] == "12"


def test_other_pages_run_the_text_alone():
    app = visit(**PADDED, padding="1")
    for page in ("beyond_weights", "qkv", "compare"):
        app.switch_page(f"pages/{page}/page.py").run()
        assert_well(app)
        assert "[PAD]" not in str([element.value for element in app.get("markdown")])
        assert address(app)["pad"] == "14", "coming back, it is as it was"
        assert all("pad_to" not in block.value for block in app.get("code"))


def test_a_key_keeps_its_padding_apart():
    alone, hidden, shown = (
        cache.ModelKey(),
        cache.ModelKey(pad=14),
        cache.ModelKey(pad=14, padding=True),
    )
    assert cache.model(hidden) is cache.model(shown) is cache.model(alone)
    traces = [cache.trace(key, CAT) for key in (alone, hidden, shown)]
    assert [trace.n_tokens for trace in traces] == [8, 8, 14]
    assert traces[1] is cache.trace(hidden, CAT) is traces[2].unpadded


def test_the_command_line_writes_the_same_numbers(tmp_path, capsys, files: dict[str, Callable[[], bytes]]):
    for padding in ("0", "1"):
        visit(**PADDED, padding=padding)
        out = tmp_path / f"head{padding}.csv"
        more = ["--padding"] if padding == "1" else []
        assert cli.main(["trace", CAT, "--layer", "1", "--head", "3", "--pad-to", "14", *more, "--out", str(out)]) == 0
        page, own = (pd.read_csv(source) for source in (io.BytesIO(files["csv"]()), out))
        assert own["weight"].to_numpy() == pytest.approx(page["weight"].to_numpy(), abs=1e-6)
        assert list(own["key_token"]) == list(page["key_token"])
    for arguments, why in (
        (["--pad-to", "3"], "pad_to=3: this text is 8 tokens"),
        (["--pad-to", "600"], "takes 512 tokens. Choose a length up to that."),
        (["--padding"], "--padding needs --pad-to"),
    ):
        assert cli.main(["trace", CAT, *arguments]) == 1
        assert why in capsys.readouterr().err
    report = tmp_path / "head.html"
    assert cli.main(["trace", CAT, "--pad-to", "14", "--out", str(report)]) == 0
    assert "8, padded to 14 as in a batch; padding is not shown" in report.read_text(encoding="utf-8")
